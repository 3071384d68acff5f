-- wharf: phase=expand

-- Messages to people about events (spec 07 section 16): one row is one message to one person, made
-- in the step of the event, before anything is sent.
CREATE TABLE notifications.notification (
    organization_id text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    kind text COLLATE "C" NOT NULL CHECK (kind IN ('user', 'customer')),
    channel text COLLATE "C" NOT NULL CHECK (channel IN ('push', 'mail')),
    event_id text COLLATE "C" NOT NULL,
    event_type text COLLATE "C" NOT NULL,
    resource_type text COLLATE "C" NOT NULL,
    resource_id text COLLATE "C" NOT NULL,
    location_id text COLLATE "C",
    occasion text COLLATE "C",
    user_id text COLLATE "C",
    contact_id text COLLATE "C",
    address text,
    language text COLLATE "C",
    title text,
    body text,
    status text COLLATE "C" NOT NULL CHECK (status IN ('waiting', 'sent', 'failed', 'skipped')),
    reason text COLLATE "C",
    attempts bigint NOT NULL DEFAULT 0,
    next_attempt_at timestamptz(3), -- while it waits
    sent_at timestamptz(3),
    resend_of text COLLATE "C",
    position bigserial NOT NULL, -- those of one person go in this order
    access_locations jsonb, -- who may see it, as of the event (spec 01 section 7 'records')
    access_audience jsonb,
    created_at timestamptz(3) NOT NULL,
    updated_at timestamptz(3) NOT NULL,
    created_by text COLLATE "C",
    updated_by text COLLATE "C",
    deleted_at timestamptz(3),
    version bigint NOT NULL DEFAULT 1,
    expires_at timestamptz(3) NOT NULL,
    PRIMARY KEY (organization_id, id),
    CHECK ((kind = 'user') = (user_id IS NOT NULL)),
    CHECK (kind = 'user' OR contact_id IS NOT NULL)
);
CREATE INDEX notification_created ON notifications.notification (organization_id, created_at, id);
CREATE INDEX notification_resource
    ON notifications.notification (organization_id, resource_id, created_at);
CREATE INDEX notification_contact
    ON notifications.notification (organization_id, contact_id, created_at)
    WHERE contact_id IS NOT NULL;
CREATE INDEX notification_user
    ON notifications.notification (organization_id, user_id, created_at)
    WHERE user_id IS NOT NULL;
CREATE INDEX notification_expires ON notifications.notification (organization_id, expires_at);
-- At most one per person and event; one that is sent again is another row.
CREATE UNIQUE INDEX notification_user_event
    ON notifications.notification (organization_id, event_id, user_id)
    WHERE user_id IS NOT NULL AND resend_of IS NULL;
CREATE UNIQUE INDEX notification_contact_event
    ON notifications.notification (organization_id, event_id, contact_id, occasion)
    WHERE contact_id IS NOT NULL AND resend_of IS NULL;
-- Those that wait, by person: the oldest is sent first, or (push) replaced by a newer one of its
-- resource.
CREATE INDEX notification_waiting_mail
    ON notifications.notification (organization_id, contact_id, position)
    WHERE status = 'waiting' AND channel = 'mail';
CREATE INDEX notification_waiting_push
    ON notifications.notification (organization_id, user_id, resource_id)
    WHERE status = 'waiting' AND channel = 'push';
CREATE INDEX notification_due
    ON notifications.notification (organization_id, next_attempt_at)
    WHERE status = 'waiting';

-- Occasions that customers were told of a shipment, or would have been (rule 3 of section 16.3): so
-- none is told twice, also when the notification itself is not kept any more.
CREATE TABLE notifications.told (
    organization_id text COLLATE "C" NOT NULL,
    shipment_id text COLLATE "C" NOT NULL,
    occasion text COLLATE "C" NOT NULL,
    event_id text COLLATE "C" NOT NULL,
    told_at timestamptz(3) NOT NULL,
    PRIMARY KEY (organization_id, shipment_id, occasion)
);

SELECT wharf.protect_table(t::regclass)
FROM unnest(ARRAY['notifications.notification', 'notifications.told']) AS t;
