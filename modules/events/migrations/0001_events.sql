-- wharf: phase=expand

-- People who get mail about system events (spec 07 section 11).
CREATE TABLE events.subscriber (
    organization_id text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    email text NOT NULL,
    events jsonb NOT NULL,
    status text COLLATE "C" NOT NULL CHECK (status IN ('pending_verification', 'pending_approval', 'active', 'bounced')),
    verified_at timestamptz(3),
    verification_sent_at timestamptz(3),
    verification_expires_at timestamptz(3),
    approval_required boolean NOT NULL,
    approved_at timestamptz(3),
    approved_by text COLLATE "C",
    approve boolean NOT NULL DEFAULT false, -- never kept: rules act on it
    resend_verification boolean NOT NULL DEFAULT false, -- the same
    refusals bigint NOT NULL DEFAULT 0, -- hard ones of the mail server, in a row
    created_at timestamptz(3) NOT NULL,
    updated_at timestamptz(3) NOT NULL,
    created_by text COLLATE "C",
    updated_by text COLLATE "C",
    deleted_at timestamptz(3),
    version bigint NOT NULL DEFAULT 1,
    PRIMARY KEY (organization_id, id)
);
CREATE UNIQUE INDEX subscriber_email ON events.subscriber (organization_id, lower(email)) WHERE deleted_at IS NULL;
CREATE INDEX subscriber_created ON events.subscriber (organization_id, created_at, id) WHERE deleted_at IS NULL;

-- When verification mails were asked for: no more than one a minute and five a day.
CREATE TABLE events.verification (
    organization_id text COLLATE "C" NOT NULL,
    subscriber_id text COLLATE "C" NOT NULL,
    sent_at timestamptz(3) NOT NULL,
    PRIMARY KEY (organization_id, subscriber_id, sent_at)
);

-- Mails to be sent: one row per event and address, until its mail is with the mail server.
CREATE TABLE events.alert (
    organization_id text COLLATE "C" NOT NULL,
    event_id text COLLATE "C" NOT NULL,
    address text COLLATE "C" NOT NULL,
    type text COLLATE "C" NOT NULL,
    resource_id text COLLATE "C" NOT NULL,
    at timestamptz(3) NOT NULL,
    mailed_at timestamptz(3),
    PRIMARY KEY (organization_id, event_id, address)
);
CREATE INDEX alert_waiting ON events.alert (organization_id, address, resource_id, type, at) WHERE mailed_at IS NULL;
CREATE INDEX alert_at ON events.alert (organization_id, at);

-- One line of alerts: an address, a resource, a type. Mail goes out at most once an hour.
CREATE TABLE events.alert_line (
    organization_id text COLLATE "C" NOT NULL,
    address text COLLATE "C" NOT NULL,
    resource_id text COLLATE "C" NOT NULL,
    type text COLLATE "C" NOT NULL,
    mailed_at timestamptz(3),
    due boolean NOT NULL, -- a job for it waits
    PRIMARY KEY (organization_id, address, resource_id, type)
);

-- Administrators who are not subscribers and want no more mail.
CREATE TABLE events.muted (
    organization_id text COLLATE "C" NOT NULL,
    address text COLLATE "C" NOT NULL,
    at timestamptz(3) NOT NULL,
    PRIMARY KEY (organization_id, address)
);
SELECT wharf.protect_table(t::regclass)
FROM unnest(ARRAY['events.subscriber', 'events.verification', 'events.alert', 'events.alert_line', 'events.muted']) AS t;
