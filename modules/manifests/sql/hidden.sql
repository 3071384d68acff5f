-- Tells whether the expected quantities of a manifest are not shown: it is blind and not closed,
-- and nobody asked for them.
CREATE OR REPLACE FUNCTION manifests.hidden(org text, manifest text, asked text) RETURNS boolean
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog AS $$
BEGIN
    RETURN (
        SELECT coalesce(bool_or(m.blind AND m.status NOT IN ('completed', 'void')
            AND asked IS DISTINCT FROM 'true'), false)
        FROM manifests.manifest m
        WHERE m.organization_id = org AND m.id = manifest
    );
END
$$;
