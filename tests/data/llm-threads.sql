-- A log of llm 0.36, as its own library wrote it for two conversations; tables for searching are left out.
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
CREATE TABLE "messages" (
   "hash" TEXT PRIMARY KEY,
   "parent_hash" TEXT REFERENCES "messages"("hash"),
   "role" TEXT,
   "provider_metadata" TEXT
);
CREATE TABLE "parts" (
   "id" INTEGER PRIMARY KEY,
   "message_hash" TEXT REFERENCES "messages"("hash"),
   "position" INTEGER,
   "type" TEXT,
   "tool_name" TEXT,
   "text" TEXT,
   "payload" TEXT
);
CREATE TABLE "part_attachments" (
   "part_id" INTEGER REFERENCES "parts"("id"),
   "attachment_id" TEXT REFERENCES "attachments"("id"),
   "order" INTEGER,
   PRIMARY KEY ("part_id", "attachment_id", "order")
);
CREATE TABLE "part_fragments" (
   "part_id" INTEGER REFERENCES "parts"("id"),
   "fragment_id" INTEGER REFERENCES "fragments"("id"),
   "order" INTEGER,
   PRIMARY KEY ("part_id", "fragment_id", "order")
);
CREATE TABLE "threads" (
   "id" TEXT PRIMARY KEY,
   "name" TEXT,
   "tip_message_hash" TEXT REFERENCES "messages"("hash"),
   "forked_from" TEXT REFERENCES "threads"("id"),
   "datetime_utc" TEXT
);
CREATE TABLE "turns" (
   "id" TEXT PRIMARY KEY,
   "thread_id" TEXT REFERENCES "threads"("id"),
   "parent_message_hash" TEXT REFERENCES "messages"("hash"),
   "tip_message_hash" TEXT REFERENCES "messages"("hash"),
   "model" TEXT,
   "resolved_model" TEXT,
   "options_json" TEXT,
   "schema_id" TEXT REFERENCES "schemas"("id"),
   "input_tokens" INTEGER,
   "output_tokens" INTEGER,
   "token_details" TEXT,
   "duration_ms" INTEGER,
   "datetime_utc" TEXT
, "response_json" TEXT);
CREATE TABLE "turn_fragments" (
   "turn_id" TEXT REFERENCES "turns"("id"),
   "fragment_id" INTEGER REFERENCES "fragments"("id"),
   "order" INTEGER,
   "kind" TEXT,
   PRIMARY KEY ("turn_id", "fragment_id", "kind", "order")
);
CREATE TABLE "turn_search" (
   "id" INTEGER PRIMARY KEY,
   "turn_id" TEXT REFERENCES "turns"("id"),
   "prompt" TEXT,
   "response" TEXT
);
CREATE TABLE "turn_tools" (
   "turn_id" TEXT REFERENCES "turns"("id"),
   "tool_id" INTEGER REFERENCES "tools"("id"),
   "instance_id" INTEGER REFERENCES "tool_instances"("id"),
   PRIMARY KEY ("turn_id", "tool_id")
);
CREATE TABLE "tool_instantiations" (
   "turn_id" TEXT REFERENCES "turns"("id"),
   "tool_call_id" TEXT,
   "instance_id" INTEGER REFERENCES "tool_instances"("id"),
   PRIMARY KEY ("turn_id", "tool_call_id")
);
INSERT INTO attachments VALUES ('2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881', 'image/png', NULL, NULL, X'78');
INSERT INTO attachments VALUES ('a2a8a8f7aabb381ed499fdcc284d564a64364efe6a45310db5abcad501e4c1e3', 'image/png', NULL, 'https://example.org/a.png', NULL);
INSERT INTO attachments VALUES ('315d429b7714cedb6ad04ac31240145257692630457f3c88253c5beceac76027', 'application/pdf', '/home/ann/d.pdf', NULL, NULL);
INSERT INTO schemas VALUES ('ef1ffdd087a6c2b550b20db1cad43f4c', '{"type":"object","properties":{"name":{"type":"string"}}}');
INSERT INTO fragments VALUES (1, '73e8c457e2d3d14a2a2427ede91a605df975cff49bdc3c88e4c5ae62ba3821b7', 'All about cats. ', '2026-11-30 09:59:30', 'cats.txt');
INSERT INTO messages VALUES ('b2:074dea0bd0259e0d5dca16426a45e4f5', NULL, 'system', NULL);
INSERT INTO messages VALUES ('b2:660bd4377b51eb35acd8549367fd7b6a', 'b2:074dea0bd0259e0d5dca16426a45e4f5', 'user', NULL);
INSERT INTO messages VALUES ('b2:d3a6430d7e587a1565cf833678f8e70a', 'b2:660bd4377b51eb35acd8549367fd7b6a', 'assistant', NULL);
INSERT INTO messages VALUES ('b2:7939104e717efff7a4067ea4460dd73e', 'b2:d3a6430d7e587a1565cf833678f8e70a', 'tool', NULL);
INSERT INTO messages VALUES ('b2:a100ebb39849e8b49fd44561043dec4b', 'b2:7939104e717efff7a4067ea4460dd73e', 'assistant', NULL);
INSERT INTO messages VALUES ('b2:7bf9bc0f1368ed1695cca8965a05212e', 'b2:a100ebb39849e8b49fd44561043dec4b', 'user', NULL);
INSERT INTO messages VALUES ('b2:215a64e2aa02eadc0ead6aab7deb7080', 'b2:7bf9bc0f1368ed1695cca8965a05212e', 'assistant', NULL);
INSERT INTO messages VALUES ('b2:b9a71ab925da6c50789180ff08f89fce', NULL, 'user', NULL);
INSERT INTO messages VALUES ('b2:ac4dd55fc35274b72a3769584ac24c86', 'b2:b9a71ab925da6c50789180ff08f89fce', 'assistant', NULL);
INSERT INTO parts VALUES (1, 'b2:074dea0bd0259e0d5dca16426a45e4f5', 0, 'text', NULL, 'Be brief.', NULL);
INSERT INTO parts VALUES (2, 'b2:660bd4377b51eb35acd8549367fd7b6a', 0, 'text', NULL, NULL, '{"text_ref": [{"fragment": 1}, {"literal": "\nwhat is it?"}]}');
INSERT INTO parts VALUES (3, 'b2:660bd4377b51eb35acd8549367fd7b6a', 1, 'attachment', NULL, NULL, '{"attachment": {"id": "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881"}}');
INSERT INTO parts VALUES (4, 'b2:660bd4377b51eb35acd8549367fd7b6a', 2, 'attachment', NULL, NULL, '{"attachment": {"id": "a2a8a8f7aabb381ed499fdcc284d564a64364efe6a45310db5abcad501e4c1e3"}}');
INSERT INTO parts VALUES (5, 'b2:660bd4377b51eb35acd8549367fd7b6a', 3, 'attachment', NULL, NULL, '{"attachment": {"id": "315d429b7714cedb6ad04ac31240145257692630457f3c88253c5beceac76027"}}');
INSERT INTO parts VALUES (6, 'b2:d3a6430d7e587a1565cf833678f8e70a', 0, 'reasoning', NULL, 'hm', '{"provider_metadata": {"m": {"sig": "c2ln"}}}');
INSERT INTO parts VALUES (7, 'b2:d3a6430d7e587a1565cf833678f8e70a', 1, 'text', NULL, 'I look.', NULL);
INSERT INTO parts VALUES (8, 'b2:d3a6430d7e587a1565cf833678f8e70a', 2, 'tool_call', 'look', NULL, '{"name": "look", "arguments": {"at": "cat"}, "tool_call_id": "tc_01m8nyac11swr4njq6sbpxdjcz"}');
INSERT INTO parts VALUES (9, 'b2:d3a6430d7e587a1565cf833678f8e70a', 3, 'tool_call', 'fail', NULL, '{"name": "fail", "arguments": {"x": 1}, "tool_call_id": "tc_01m8nyac11swr4njq6sbpxdjd0"}');
INSERT INTO parts VALUES (10, 'b2:7939104e717efff7a4067ea4460dd73e', 0, 'tool_result', 'look', NULL, '{"name": "look", "output": "saw cat", "tool_call_id": "tc_01m8nyac11swr4njq6sbpxdjcz"}');
INSERT INTO parts VALUES (11, 'b2:7939104e717efff7a4067ea4460dd73e', 1, 'tool_result', 'fail', NULL, '{"name": "fail", "output": "Error: broken", "tool_call_id": "tc_01m8nyac11swr4njq6sbpxdjd0", "exception": "ValueError: broken"}');
INSERT INTO parts VALUES (12, 'b2:a100ebb39849e8b49fd44561043dec4b', 0, 'text', NULL, 'It is red.', NULL);
INSERT INTO parts VALUES (13, 'b2:7bf9bc0f1368ed1695cca8965a05212e', 0, 'text', NULL, 'and as JSON?', NULL);
INSERT INTO parts VALUES (14, 'b2:215a64e2aa02eadc0ead6aab7deb7080', 0, 'text', NULL, '{"name":"cat"}', NULL);
INSERT INTO parts VALUES (15, 'b2:b9a71ab925da6c50789180ff08f89fce', 0, 'text', NULL, 'just one', NULL);
INSERT INTO parts VALUES (16, 'b2:ac4dd55fc35274b72a3769584ac24c86', 0, 'text', NULL, 'alone', NULL);
INSERT INTO part_attachments VALUES (3, '2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881', 0);
INSERT INTO part_attachments VALUES (4, 'a2a8a8f7aabb381ed499fdcc284d564a64364efe6a45310db5abcad501e4c1e3', 0);
INSERT INTO part_attachments VALUES (5, '315d429b7714cedb6ad04ac31240145257692630457f3c88253c5beceac76027', 0);
INSERT INTO part_fragments VALUES (2, 1, 0);
INSERT INTO threads VALUES ('01m8nyabqwkzrawjash5mwhvjr', 'A long text about cats. A long …', 'b2:215a64e2aa02eadc0ead6aab7deb7080', NULL, '2026-11-30 09:59:30.090539+00:00');
INSERT INTO threads VALUES ('01m8nyac458t4r50k0wat3gh8q', 'just one', 'b2:ac4dd55fc35274b72a3769584ac24c86', NULL, '2026-11-30 09:59:30.181195+00:00');
INSERT INTO turns VALUES ('01m8nyac11swr4njq6sbpxdjcy', '01m8nyabqwkzrawjash5mwhvjr', 'b2:660bd4377b51eb35acd8549367fd7b6a', 'b2:d3a6430d7e587a1565cf833678f8e70a', 'mock', NULL, NULL, NULL, 5, 7, '{"cached": 1}', 0, '2026-11-30T09:59:30.081282+00:00', NULL);
INSERT INTO turns VALUES ('01m8nyac11swr4njq6sbpxdjd1', '01m8nyabqwkzrawjash5mwhvjr', 'b2:7939104e717efff7a4067ea4460dd73e', 'b2:a100ebb39849e8b49fd44561043dec4b', 'mock', NULL, NULL, NULL, 5, 7, '{"cached": 1}', 0, '2026-11-30T09:59:30.081720+00:00', NULL);
INSERT INTO turns VALUES ('01m8nyac38gxfzj7sp8xbc1k7b', '01m8nyabqwkzrawjash5mwhvjr', 'b2:7bf9bc0f1368ed1695cca8965a05212e', 'b2:215a64e2aa02eadc0ead6aab7deb7080', 'mock', NULL, NULL, 'ef1ffdd087a6c2b550b20db1cad43f4c', 5, 7, '{"cached": 1}', 0, '2026-11-30T09:59:30.152711+00:00', NULL);
INSERT INTO turns VALUES ('01m8nyac4403ev8zd4gk65mjgh', '01m8nyac458t4r50k0wat3gh8q', 'b2:b9a71ab925da6c50789180ff08f89fce', 'b2:ac4dd55fc35274b72a3769584ac24c86', 'mock', NULL, NULL, NULL, 5, 7, '{"cached": 1}', 0, '2026-11-30T09:59:30.180589+00:00', NULL);
