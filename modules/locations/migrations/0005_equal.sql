-- wharf: phase=expand
-- Equal names are found by the index that sorts names.

DROP INDEX locations.location_name_equal;
