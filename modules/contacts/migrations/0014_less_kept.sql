-- wharf: phase=expand
-- What nobody looks for is neither indexed nor counted: contacts without an external id are most of them, and had an entry each; how often each
-- deletion occurs was counted at each ANALYZE, and words are found by the index of deletions whatever the answer (words_sharing).

CREATE UNIQUE INDEX contact_external_id_set ON contacts.contact (organization_id, lower(external_id))
    WHERE deleted_at IS NULL AND external_id IS NOT NULL;
ALTER TABLE contacts.word ALTER COLUMN deletions SET STATISTICS 0;
DROP INDEX contacts.contact_external_id; -- last: reads wait from here on
ALTER INDEX contacts.contact_external_id_set RENAME TO contact_external_id;
