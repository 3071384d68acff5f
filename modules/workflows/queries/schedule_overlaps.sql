-- Tells whether a run of a schedule's trigger is not over yet. $1 organization, $2 workflow, $3
-- cron line and $4 name of the trigger.
SELECT EXISTS (
        SELECT FROM workflows.run r
        WHERE r.organization_id = $1::text
            AND r.workflow_id = $2::text
            AND r.status IN ('queued', 'waiting')
            AND r.trigger_type = 'schedule'
            AND r.trigger ->> 'cron' = $3::text
            AND r.trigger ->> 'name' IS NOT DISTINCT FROM $4::text
    )
    OR EXISTS (
        SELECT FROM workflows.run r
        WHERE r.organization_id = $1::text
            AND r.workflow_id = $2::text
            AND r.status = 'running'
            AND r.trigger_type = 'schedule'
            AND r.trigger ->> 'cron' = $3::text
            AND r.trigger ->> 'name' IS NOT DISTINCT FROM $4::text
    )
