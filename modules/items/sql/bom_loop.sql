-- Returns the item ids along the loop that parts of an assembly would close in the graph of bills,
-- from the assembly on, each once.
CREATE OR REPLACE FUNCTION items.bom_loop(org text, assembly text, parts text[]) RETURNS text[]
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog AS $$
BEGIN
    RETURN (
        WITH RECURSIVE down(node, via) AS (
            SELECT p.item_id COLLATE "C", bom_loop.assembly COLLATE "C"
            FROM unnest(bom_loop.parts) p(item_id)
            UNION
            SELECT e.component_id, e.assembly_id
            FROM down d
            JOIN items.bom_edge e ON e.organization_id = bom_loop.org AND e.assembly_id = d.node
            WHERE d.node <> bom_loop.assembly
        ), back(node, path) AS (
            SELECT bom_loop.assembly COLLATE "C", ARRAY[bom_loop.assembly COLLATE "C"]
            UNION ALL
            SELECT u.via, u.via || b.path
            FROM back b
            CROSS JOIN LATERAL (
                SELECT d.via
                FROM down d
                WHERE d.node = b.node
                ORDER BY d.via <> bom_loop.assembly, d.via COLLATE "C"
                LIMIT 1
            ) u
            WHERE b.node <> bom_loop.assembly OR cardinality(b.path) = 1
        )
        SELECT b.path[:cardinality(b.path) - 1]
        FROM back b
        WHERE b.node = bom_loop.assembly AND cardinality(b.path) > 1
    );
END
$$;
