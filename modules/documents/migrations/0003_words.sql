-- wharf: phase=expand

-- Words that stand in the current version, folded, each once, and the file in which they were read
-- (docs/spec/05-documents-and-templates.md section 3.7).
ALTER TABLE documents.document
    ADD COLUMN content_words text,
    ADD COLUMN words_file_id text COLLATE "C";
ALTER TABLE documents.document ALTER COLUMN content_words SET COMPRESSION lz4;
CREATE INDEX document_search_words
    ON documents.document USING gin (content_words public.gin_trgm_ops);
CREATE INDEX document_unread
    ON documents.document (created_at)
    WHERE deleted_at IS NULL AND file_id IS NOT NULL AND words_file_id IS DISTINCT FROM file_id
        AND (mime_type = 'application/pdf' OR mime_type LIKE 'text/%' OR mime_type LIKE 'image/%');
