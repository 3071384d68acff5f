-- wharf: phase=expand
-- Equal names, the latest first: in the collation of sorting, as filters ask.

DROP INDEX parcels.parcel_name_equal;
CREATE INDEX parcel_name_equal ON parcels.parcel (organization_id, lower(name) COLLATE "C", created_at, id) WHERE deleted_at IS NULL;
