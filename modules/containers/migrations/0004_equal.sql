-- wharf: phase=expand
-- Equal numbers, the latest first: in the collation of sorting, as filters ask.

DROP INDEX containers.container_number;
CREATE INDEX container_number ON containers.container (organization_id, lower(tracking_number) COLLATE "C", created_at, id) WHERE deleted_at IS NULL;
