-- wharf: phase=expand
-- First pages of long lists of groups: equal names, and how many rows have one, which partial indexes do not tell the planner.
CREATE INDEX group_name_equal ON contacts.contact_group (organization_id, lower(name), id) WHERE deleted_at IS NULL;
CREATE STATISTICS contacts.group_names ON lower(name) FROM contacts.contact_group;
CREATE STATISTICS contacts.group_external_ids ON lower(external_id) FROM contacts.contact_group;
