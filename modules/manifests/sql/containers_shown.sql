-- Returns the parcels of a manifest as it shows them, in their order, with their lines.
CREATE OR REPLACE FUNCTION manifests.containers_shown(
    org text, manifest text, asked text, named boolean
) RETURNS json
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog AS $$
BEGIN
    RETURN (
        SELECT coalesce(json_agg(json_build_object(
            'id', p.id, 'tracking_number', p.tracking_number,
            'container_number', p.container_number, 'layout_id', p.layout_id,
            'unpacked', p.unpacked, 'received', p.received, 'defective', p.defective,
            'missing', p.missing,
            'articles', manifests.articles_shown(org, manifest, p.id, asked, named)
        ) ORDER BY p.position, p.id), '[]')
        FROM manifests.parcel p
        WHERE p.organization_id = org AND p.manifest_id = manifest
    );
END
$$;
