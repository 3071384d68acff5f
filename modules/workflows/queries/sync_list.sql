-- Lists workflows for a device. Rows in the caller's view first, then those that changed, or may
-- have left it, and are not in it. $1 organization, $2 are drafts wanted, $3 change of the token or
-- null, $4 locations of the caller or null: all, $5 locations that are asked for or null, $6 is the
-- token of another view.
SELECT w.id, w.name, w.description, NULLIF(w.allowed_locations, '[]'), w.published_version,
    w.enabled,
    jsonb_path_query_array(
        CASE WHEN $2::boolean THEN w.triggers ELSE v.triggers END,
        '$[*] ? (@.type == "http" || @.type == "manual")'
    ),
    CASE WHEN $2::boolean THEN w.settings ELSE v.settings END, w.updated_at,
    CASE
        WHEN $2::boolean THEN encode(sha256(convert_to(w.source || w.files::text, 'UTF8')), 'hex')
        ELSE v.sha256
    END,
    s.seen
FROM workflows.workflow w
LEFT JOIN workflows.version v
    ON v.organization_id = w.organization_id
        AND v.workflow_id = w.id
        AND v.number = w.published_version
CROSS JOIN LATERAL (
    SELECT w.deleted_at IS NULL
        AND CASE
            WHEN $2::boolean THEN w.published_revision IS DISTINCT FROM w.draft_revision
            ELSE v.number IS NOT NULL AND w.enabled
        END
        AND (
            COALESCE(w.allowed_locations, '[]') = '[]'
            OR (
                (
                    $4::jsonb IS NULL
                    OR EXISTS (
                        SELECT FROM jsonb_array_elements_text($4::jsonb) AS c(id)
                        WHERE w.allowed_locations ? c.id
                    )
                )
                AND (
                    $5::jsonb IS NULL
                    OR EXISTS (
                        SELECT FROM jsonb_array_elements_text($5::jsonb) AS c(id)
                        WHERE w.allowed_locations ? c.id
                    )
                )
            )
        ) AS seen
) s
WHERE w.organization_id = $1::text
    AND (
        w.change > $3::bigint
        OR (s.seen AND $3::bigint IS NULL)
        OR (
            $6::boolean
            AND (s.seen OR (w.deleted_at IS NULL AND ($2::boolean OR v.number IS NOT NULL)))
        )
    )
ORDER BY s.seen DESC, w.id
LIMIT 2001
