-- wharf: phase=expand

-- The MD5 of a version is known where it was asked for
-- (docs/spec/05-documents-and-templates.md section 2).
ALTER TABLE documents.version ALTER COLUMN checksum_md5 DROP NOT NULL;
