-- Returns what to do next on a manifest: the article that is named while something of it is to
-- come, else the first open one. named: who asks reads items, and so their names.
CREATE OR REPLACE FUNCTION manifests.next(
    org text, manifest text, article text, named boolean
) RETURNS json
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog AS $$
BEGIN
    RETURN (
        SELECT json_build_object('action', CASE WHEN m.status IN ('completed', 'void') THEN 'none'
                WHEN o.n > 0 THEN 'receive' ELSE 'complete' END,
            'open_count', o.n, 'article', a.shown)
        FROM manifests.manifest m
        CROSS JOIN LATERAL (
            SELECT count(*) AS n
            FROM manifests.article x
            WHERE x.organization_id = org AND x.manifest_id = manifest AND x.deleted_at IS NULL
                AND x.packed > x.received
        ) o
        LEFT JOIN LATERAL (
            SELECT json_build_object('id', x.id, 'item_id', x.item_id,
                'sku', CASE WHEN named THEN i.sku END, 'name', CASE WHEN named THEN i.name END,
                'layout_id', coalesce(x.layout_id, p.layout_id),
                'remaining_qty', CASE WHEN NOT manifests.hidden(org, manifest, NULL)
                    THEN trim_scale(x.packed - x.received) END) AS shown
            FROM manifests.article x
            JOIN items.item i ON i.organization_id = org AND i.id = x.item_id
            LEFT JOIN manifests.parcel p ON p.organization_id = org AND p.id = x.parcel_id
            WHERE x.organization_id = org AND x.manifest_id = manifest AND x.deleted_at IS NULL
                AND x.packed > x.received
            ORDER BY x.id = article DESC, x.position, x.id
            LIMIT 1
        ) a ON true
        WHERE m.organization_id = org AND m.id = manifest
    );
END
$$;
