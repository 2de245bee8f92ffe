-- A log of llm as it was in 2023 (migrations up to m011), with rows of its first schema, filled by hand.
CREATE TABLE "logs" (
   "id" INTEGER PRIMARY KEY,
   "model" TEXT,
   "prompt" TEXT,
   "system" TEXT,
   "prompt_json" TEXT,
   "options_json" TEXT,
   "response" TEXT,
   "response_json" TEXT,
   "reply_to_id" INTEGER REFERENCES "logs"("id"),
   "chat_id" INTEGER,
   "duration_ms" INTEGER,
   "datetime_utc" TEXT
);
CREATE TABLE "conversations" (
   "id" TEXT PRIMARY KEY,
   "name" TEXT,
   "model" TEXT
);
CREATE TABLE "responses" (
   "id" TEXT PRIMARY KEY,
   "model" TEXT,
   "prompt" TEXT,
   "system" TEXT,
   "prompt_json" TEXT,
   "options_json" TEXT,
   "response" TEXT,
   "response_json" TEXT,
   "conversation_id" TEXT REFERENCES "conversations"("id"),
   "duration_ms" INTEGER,
   "datetime_utc" TEXT
);
INSERT INTO logs VALUES (1, 'gpt-4', 'hi', 'Be brief.', NULL, NULL, 'hello', NULL, NULL, NULL, NULL, '2023-05-01T10:00:00');
INSERT INTO logs VALUES (2, 'gpt-4', 'else', NULL, NULL, NULL, 'other', NULL, NULL, NULL, NULL, '2023-05-01T10:00:01');
INSERT INTO logs VALUES (3, 'gpt-4', 'and?', NULL, NULL, NULL, 'that is all', NULL, 1, 1, NULL, '2023-05-01T10:00:02');
INSERT INTO conversations VALUES ('01a', 'cats', 'gpt-4');
INSERT INTO responses VALUES ('r1', 'gpt-4', 'cats?', NULL, NULL, '{}', 'three', '{}', '01a', 900, '2023-08-01T10:00:00');
