-- A log of llm as it was before its store of messages (migrations up to m022), filled by hand.
CREATE TABLE "conversations" (
   "id" TEXT PRIMARY KEY,
   "name" TEXT,
   "model" TEXT
);
CREATE TABLE "attachments" (
   "id" TEXT PRIMARY KEY,
   "type" TEXT,
   "path" TEXT,
   "url" TEXT,
   "content" BLOB
);
CREATE TABLE "prompt_attachments" (
   "response_id" TEXT REFERENCES "responses"("id"),
   "attachment_id" TEXT REFERENCES "attachments"("id"),
   "order" INTEGER,
   PRIMARY KEY ("response_id", "attachment_id")
);
CREATE TABLE "schemas" (
   "id" TEXT PRIMARY KEY,
   "content" TEXT
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
   "datetime_utc" TEXT,
   "input_tokens" INTEGER,
   "output_tokens" INTEGER,
   "token_details" TEXT,
   "schema_id" TEXT REFERENCES "schemas"("id")
, "resolved_model" TEXT, "reasoning" TEXT);
CREATE TABLE "fragments" (
   "id" INTEGER PRIMARY KEY,
   "hash" TEXT,
   "content" TEXT,
   "datetime_utc" TEXT,
   "source" TEXT
);
CREATE TABLE "fragment_aliases" (
   "alias" TEXT PRIMARY KEY,
   "fragment_id" INTEGER REFERENCES "fragments"("id")
);
CREATE TABLE "prompt_fragments" (
   "response_id" TEXT REFERENCES "responses"("id"),
   "fragment_id" INTEGER REFERENCES "fragments"("id"),
   "order" INTEGER,
   PRIMARY KEY ("response_id", "fragment_id", "order")
);
CREATE TABLE "system_fragments" (
   "response_id" TEXT REFERENCES "responses"("id"),
   "fragment_id" INTEGER REFERENCES "fragments"("id"),
   "order" INTEGER,
   PRIMARY KEY ("response_id", "fragment_id", "order")
);
CREATE TABLE "tools" (
   "id" INTEGER PRIMARY KEY,
   "hash" TEXT,
   "name" TEXT,
   "description" TEXT,
   "input_schema" TEXT
, "plugin" TEXT);
CREATE TABLE "tool_responses" (
   "tool_id" INTEGER REFERENCES "tools"("id"),
   "response_id" TEXT REFERENCES "responses"("id"),
   PRIMARY KEY ("tool_id", "response_id")
);
CREATE TABLE "tool_calls" (
   "id" INTEGER PRIMARY KEY,
   "response_id" TEXT REFERENCES "responses"("id"),
   "tool_id" INTEGER REFERENCES "tools"("id"),
   "name" TEXT,
   "arguments" TEXT,
   "tool_call_id" TEXT
);
CREATE TABLE "tool_instances" (
   "id" INTEGER PRIMARY KEY,
   "plugin" TEXT,
   "name" TEXT,
   "arguments" TEXT
);
CREATE TABLE "tool_results" (
   "id" INTEGER PRIMARY KEY,
   "response_id" TEXT REFERENCES "responses"("id"),
   "tool_id" INTEGER REFERENCES "tools"("id"),
   "name" TEXT,
   "output" TEXT,
   "tool_call_id" TEXT,
   "instance_id" INTEGER REFERENCES "tool_instances"("id")
, "exception" TEXT);
CREATE TABLE "tool_results_attachments" (
   "tool_result_id" INTEGER REFERENCES "tool_results"("id"),
   "attachment_id" TEXT REFERENCES "attachments"("id"),
   "order" INTEGER,
   PRIMARY KEY ("tool_result_id", "attachment_id")
);
INSERT INTO conversations VALUES ('01a', 'cats', 'gpt-4o');
INSERT INTO conversations VALUES ('01b', 'other', 'gpt-4o');
INSERT INTO attachments VALUES ('a1', 'image/png', NULL, NULL, X'78');
INSERT INTO attachments VALUES ('a2', 'image/png', '/home/ann/cat.png', NULL, NULL);
INSERT INTO attachments VALUES ('a3', 'image/jpeg', NULL, 'https://example.org/cat.jpg', NULL);
INSERT INTO prompt_attachments VALUES ('r1', 'a2', 1);
INSERT INTO prompt_attachments VALUES ('r1', 'a1', 0);
INSERT INTO schemas VALUES ('s1', '{"type": "object"}');
INSERT INTO responses VALUES ('r1', 'gpt-4o', 'what is it?', 'Be brief.', NULL, '{"temperature": 0.5}', 'I look.', '{"id": "chatcmpl-1"}', '01a', 900, '2025-07-01T10:00:00+00:00', 5, 7, NULL, NULL, NULL, 'hm');
INSERT INTO responses VALUES ('r2', 'gpt-4o', 'hi', NULL, NULL, '{}', 'hello', '{"id": "chatcmpl-1"}', '01b', 900, '2025-07-01T10:00:30+00:00', 5, 7, NULL, NULL, NULL, NULL);
INSERT INTO responses VALUES ('r3', 'gpt-4o', '', NULL, NULL, '{}', 'It is red.', '{"id": "chatcmpl-1"}', '01a', 900, '2025-07-01T10:00:02+00:00', 5, 7, '{"cached": 1}', NULL, 'gpt-4o-2024-08-06', NULL);
INSERT INTO responses VALUES ('r4', 'gpt-4o', 'and as JSON?', 'Be brief.', NULL, '{}', '{"name": "cat"}', '{"id": "chatcmpl-1"}', '01a', 900, '2025-07-01T10:01:00+00:00', 5, 7, NULL, 's1', NULL, NULL);
INSERT INTO fragments VALUES (1, 'h1', 'All about cats.', '2025-07-01', 'cats.txt');
INSERT INTO fragments VALUES (2, 'h2', 'In verse.', '2025-07-01', NULL);
INSERT INTO prompt_fragments VALUES ('r1', 1, 0);
INSERT INTO system_fragments VALUES ('r1', 2, 0);
INSERT INTO system_fragments VALUES ('r4', 2, 0);
INSERT INTO tool_calls VALUES (1, 'r1', NULL, 'look', '{"at": "cat"}', NULL);
INSERT INTO tool_calls VALUES (2, 'r1', NULL, 'fail', '{"x": 1}', 'tc_2');
INSERT INTO tool_results VALUES (1, 'r3', NULL, 'look', 'saw cat', NULL, NULL, NULL);
INSERT INTO tool_results VALUES (2, 'r3', NULL, 'fail', 'Error: broken', 'tc_2', NULL, 'ValueError: broken');
INSERT INTO tool_results_attachments VALUES (1, 'a3', 0);
