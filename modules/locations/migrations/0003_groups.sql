-- wharf: phase=expand
-- Counts the changes of a location's groups, which the groups keep: a request that changes nothing else changes the row all the same.

ALTER TABLE locations.location ADD COLUMN groups_changes bigint NOT NULL DEFAULT 0;
