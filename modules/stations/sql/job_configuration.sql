-- Returns the configuration as it is shown. What is within bounds is not touched.
CREATE OR REPLACE FUNCTION stations.job_configuration(c jsonb) RETURNS jsonb
    LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT CASE
        WHEN jsonb_typeof(c -> 'scaling') = 'number'
            AND (c ->> 'scaling')::numeric BETWEEN 0.25 AND 3
            THEN c - 'reverse_order'
        ELSE (c - 'reverse_order') || jsonb_build_object(
            'scaling', stations.scaling(
                CASE WHEN jsonb_typeof(c -> 'scaling') = 'number'
                    THEN (c ->> 'scaling')::numeric END
            )
        )
    END
$$;
