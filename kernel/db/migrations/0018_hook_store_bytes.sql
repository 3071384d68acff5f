-- wharf: phase=expand
-- What a key takes of its organization's 10 MiB stands beside it: each write of a hook adds them up, and would else read and print every value of the store.
ALTER TABLE wharf.hook_kv ADD COLUMN bytes integer NOT NULL GENERATED ALWAYS AS (octet_length(key) + octet_length(value::text)) STORED;
