-- wharf: phase=expand
-- A contact costs what its index entries cost. Equal names are found by the index that sorts names; what arrays and metadata contain, by one
-- index for all of them: PostgreSQL looks a condition on one of its columns up as fast as in an index of that column alone.

CREATE INDEX contact_contained ON contacts.contact USING gin (emails, address_hashes, groups, locations, metadata jsonb_path_ops);
DROP INDEX contacts.contact_emails;
DROP INDEX contacts.contact_address_hashes;
DROP INDEX contacts.contact_groups;
DROP INDEX contacts.contact_locations;
DROP INDEX contacts.contact_metadata;
DROP INDEX contacts.contact_name_equal;
DROP INDEX contacts.group_name_equal;
