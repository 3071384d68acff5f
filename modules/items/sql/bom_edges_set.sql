-- Makes parts what a bill builds its assembly of in the graph of bills (spec 09 section 10.2).
-- Returns null when it is written; the item ids along the loop, from the assembly on,
-- when there would be one; an empty array when the graph would be deeper than most. The caller
-- holds the lock of the graph, and takes the transaction back when this is not null.
CREATE OR REPLACE FUNCTION items.bom_edges_set(
    bom text, assembly text, parts text[], most integer
) RETURNS text[]
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    org CONSTANT text := current_setting('wharf.organization', true);
    level text[] := parts;
    below integer := 0;
    above integer := 0;
BEGIN
    DELETE FROM items.bom_edge e WHERE e.organization_id = org AND e.bom_id = bom;
    -- The k-th round holds what is reached by k edges; without loops it ends with the longest way.
    WHILE cardinality(level) > 0 LOOP
        IF assembly = ANY (level) THEN
            RETURN items.bom_loop(org, assembly, parts);
        END IF;
        below := below + 1;
        level := ARRAY(
            SELECT DISTINCT e.component_id
            FROM items.bom_edge e
            WHERE e.organization_id = org AND e.assembly_id = ANY (level)
        );
    END LOOP;
    level := ARRAY[assembly];
    LOOP
        level := ARRAY(
            SELECT DISTINCT e.assembly_id
            FROM items.bom_edge e
            WHERE e.organization_id = org AND e.component_id = ANY (level)
        );
        EXIT WHEN cardinality(level) = 0;
        above := above + 1;
    END LOOP;
    IF above + below > most THEN
        RETURN '{}';
    END IF;
    INSERT INTO items.bom_edge (organization_id, assembly_id, component_id, bom_id)
    SELECT org, assembly, p.item_id, bom FROM unnest(parts) p(item_id);
    RETURN NULL;
END
$$;
