-- Receipts of a manifest add up to what its articles say was booked; of an article is expected what
-- was packed and is not booked, of a closed manifest nothing.
-- rows: manifests.article
-- An article was changed past the server. Look at the receipts of its manifest, count the goods,
-- and correct the stock of the item.
SELECT a.organization_id, a.id, CASE
        WHEN r.received <> a.booked OR r.defective <> a.booked_defective THEN 'has '
            || trim_scale(a.booked) || ' booked, and its receipts say ' || trim_scale(r.received)
        ELSE 'expects ' || trim_scale(a.expected)
    END
FROM manifests.article a
JOIN manifests.manifest m ON m.organization_id = a.organization_id AND m.id = a.manifest_id
CROSS JOIN LATERAL (
    SELECT coalesce(sum(CASE c.type WHEN 'reversal' THEN -l.received_qty ELSE l.received_qty END),
            0) AS received,
        coalesce(sum(CASE c.type WHEN 'reversal' THEN -l.defective_qty ELSE l.defective_qty END),
            0) AS defective
    FROM manifests.receipt c
    CROSS JOIN LATERAL jsonb_to_recordset(c.lines) l(
        article_id text, received_qty numeric, defective_qty numeric
    )
    WHERE c.organization_id = a.organization_id AND c.manifest_id = a.manifest_id
        AND c.deleted_at IS NULL AND l.article_id = a.id
) r
WHERE a.deleted_at IS NULL AND (
    r.received <> a.booked OR r.defective <> a.booked_defective OR a.expected <> CASE
        WHEN m.deleted_at IS NULL AND m.status IN ('created', 'accepted', 'processing')
        THEN greatest(0, a.packed - a.booked) ELSE 0 END
)
