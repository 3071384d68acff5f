-- The stations that have a word of :words, the most similar ones first, by the indexes of
-- trigrams.
\set n random(1, :word_count)
SELECT
    t.id, t.name, t.display_name, t.location_id, t.status, t.allow_all_users, t.configuration,
    t.device_id, t.agent, t.last_seen_at, t.online_since, t.push, t.metadata, t.created_at,
    t.updated_at, t.created_by, t.updated_by, p.id AS "printers.id", p.name AS "printers.name",
    p.model AS "printers.model", p.status AS "printers.status",
    p.configuration AS "printers.configuration", p.page_size AS "printers.page_size",
    p.languages AS "printers.languages", p.state_reasons AS "printers.state_reasons",
    p.uri AS "printers.uri", p.created_at AS "printers.created_at",
    p.updated_at AS "printers.updated_at", p.status_changed_at AS "printers.status_changed_at"
FROM (
    SELECT *, similarity(lower(t.name), split_part(:words, ',', :n)) AS score
    FROM stations.print_station t
    WHERE t.organization_id = :org AND t.deleted_at IS NULL
        AND (lower(t.name) LIKE '%' || split_part(:words, ',', :n) || '%'
        OR lower(t.display_name) LIKE '%' || split_part(:words, ',', :n) || '%'
        OR t.id = ANY (ARRAY(SELECT x.station_id FROM stations.printer x
            WHERE x.organization_id = :org AND x.deleted_at IS NULL
            AND (lower(x.name) LIKE '%' || split_part(:words, ',', :n) || '%'
            OR lower(x.model) LIKE '%' || split_part(:words, ',', :n) || '%'))))
    ORDER BY score DESC, t.id
    LIMIT 21
) t
LEFT JOIN stations.printer p ON p.organization_id = :org AND p.station_id = t.id
    AND p.deleted_at IS NULL
ORDER BY t.score DESC, t.id, p.position;
