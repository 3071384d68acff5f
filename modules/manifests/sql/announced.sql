-- Tells whether somebody announced any of the goods of a manifest: when nobody did, nothing is over
-- (spec 03 section 7.4).
CREATE OR REPLACE FUNCTION manifests.announced(org text, manifest text) RETURNS boolean
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog AS $$
BEGIN
    RETURN EXISTS (
        SELECT 1
        FROM manifests.article a
        WHERE a.organization_id = org AND a.manifest_id = manifest AND a.deleted_at IS NULL
            AND NOT a.unexpected
    );
END
$$;
