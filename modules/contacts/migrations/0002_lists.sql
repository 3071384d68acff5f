-- wharf: phase=expand
-- First pages of long lists: equal names and phones, e-mails from the end; and how many rows have one, which partial indexes do not tell the planner.

CREATE INDEX contact_name_equal ON contacts.contact (organization_id, lower(name), id) WHERE deleted_at IS NULL;
CREATE INDEX contact_phone_equal ON contacts.contact (organization_id, lower(phone)) WHERE deleted_at IS NULL AND phone IS NOT NULL;
CREATE INDEX contact_email_down ON contacts.contact (organization_id, lower(email) COLLATE "C" DESC NULLS LAST, id DESC) WHERE deleted_at IS NULL;
DROP INDEX contacts.contact_phone;
CREATE STATISTICS contacts.contact_names ON lower(name) FROM contacts.contact;
CREATE STATISTICS contacts.contact_phones ON lower(phone) FROM contacts.contact;
CREATE STATISTICS contacts.contact_external_ids ON lower(external_id) FROM contacts.contact;

-- Rows whose texts contain one of the words, or all of them, as LIKE patterns. Row-level security keeps LIKE of a plugin's statement from the
-- trigram index, so that it reads all contacts of the organization; this looks for itself, into the organization of the transaction.
CREATE FUNCTION contacts.containing(patterns text[], most integer) RETURNS SETOF text
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog AS $$
    SELECT c.id FROM contacts.contact c WHERE c.organization_id = current_setting('wharf.organization', true)
    AND c.deleted_at IS NULL AND c.search_text LIKE ALL (patterns) LIMIT most
$$;
