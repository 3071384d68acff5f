-- Notes what one address answered: taken, dead, refused or again (later_ms: what it asks to wait),
-- and with the last one of an attempt what becomes of the push. Returns what the notification
-- became, and why; nothing when it stays as it is. It is sent with the first address that took it;
-- the others go on. An attempt is made again after 30 s, doubled up to 1 h, for 24 h.
CREATE OR REPLACE FUNCTION notifications.push_note(org text, its_id text, its_server text,
    its_address text, outcome text, later_ms bigint, is_last boolean, at timestamptz)
    RETURNS TABLE (became text, why text)
    LANGUAGE plpgsql SET search_path = pg_catalog AS $$
DECLARE
    moment timestamptz(3) := at;
    p notifications.push;
    next_at timestamptz(3);
BEGIN
    UPDATE notifications.push q
        SET done = CASE WHEN outcome = 'again' THEN q.done
            ELSE q.done || jsonb_build_object(its_address, outcome) END,
        wait_ms = GREATEST(q.wait_ms, CASE WHEN outcome = 'again' THEN GREATEST(1, later_ms)
            ELSE 0 END)
        WHERE q.organization_id = org AND q.id = its_id AND q.server = its_server
        RETURNING * INTO p;
    IF p.id IS NULL THEN
        RETURN; -- another server has it since
    END IF;
    IF outcome = 'taken' THEN
        became := 'sent';
    END IF;
    IF is_last AND p.wait_ms > 0 THEN
        next_at := moment + CASE WHEN p.wait_ms > 1 THEN p.wait_ms * interval '1 millisecond'
            ELSE LEAST(interval '1 hour', interval '30 seconds' * 2 ^ LEAST(p.attempts - 1, 10))
            END;
        IF EXISTS (SELECT FROM notifications.push q WHERE q.organization_id = org
                AND q.user_id = p.user_id AND q.resource_type = p.resource_type
                AND q.resource_id = p.resource_id AND q.number > p.number) THEN
            why := 'replaced';
        ELSIF next_at > p.first_at + interval '24 hours' THEN
            why := 'unreachable';
        END IF;
    ELSIF is_last AND NOT jsonb_path_exists(p.done, '$.* ? (@ == "taken")') THEN
        why := CASE WHEN jsonb_path_exists(p.done, '$.* ? (@ == "refused")') THEN 'refused'
            ELSE 'no_device' END;
    END IF;
    IF is_last AND (p.wait_ms = 0 OR why IS NOT NULL) THEN
        DELETE FROM notifications.push q WHERE q.organization_id = org AND q.id = its_id;
    ELSIF is_last THEN
        UPDATE notifications.push q SET server = NULL, due_at = next_at
            WHERE q.organization_id = org AND q.id = its_id;
        UPDATE notifications.notification n SET next_attempt_at = next_at,
            version = n.version + 1, updated_at = moment
            WHERE n.organization_id = org AND n.id = its_id AND n.status = 'waiting';
    END IF;
    IF became IS NULL AND why IS NOT NULL THEN
        became := CASE WHEN why IN ('refused', 'unreachable') THEN 'failed' ELSE 'skipped' END;
    ELSIF became IS NOT NULL THEN
        why := NULL;
    END IF;
    IF became IS NOT NULL THEN
        RETURN NEXT;
    END IF;
END
$$;
