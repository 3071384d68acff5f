-- Loads a batch; the moments of phases as numbers, for whoever goes on with them. $1 batch, $2
-- organization.
SELECT resource, action, mode, status, match_by, location_id, save_result_date_format,
    duplicate_handling, key_id, source_url, source_file, parent_batch_id, properties, filters,
    column_mapping, file_options, save_upload, save_result, validate_only, disable_webhooks,
    notify_customer,
    via = 'file', cancel_asked, lease, started_at, tries, runs,
    (
        SELECT jsonb_agg(
            p || jsonb_build_object(
                '_started',
                (extract(epoch FROM (p ->> 'started_at')::timestamptz) * 1000000)::bigint,
                '_finished',
                (extract(epoch FROM (p ->> 'finished_at')::timestamptz) * 1000000)::bigint
            ) ORDER BY o
        )
        FROM jsonb_array_elements(phases) WITH ORDINALITY x(p, o)
    )
FROM batches.batch
WHERE organization_id = $2::text AND id = $1::text
