-- wharf: phase=expand
-- What a key takes of its workflow's 10 MiB stands beside it: each write of a run adds them up, and would else read and print every value of the store.
ALTER TABLE workflows.kv ADD COLUMN bytes integer NOT NULL GENERATED ALWAYS AS (octet_length(key) + octet_length(value::text)) STORED;
