-- wharf: phase=expand

-- Keeps the browsers of users, and pushes that are not over
-- (docs/spec/07-events-and-webhooks.md section 16.2).
CREATE TABLE notifications.push_subscription (
    organization_id text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    user_id text COLLATE "C" NOT NULL,
    name text,
    service text COLLATE "C" NOT NULL, -- scheme and host of the endpoint
    endpoint text COLLATE "C" NOT NULL, -- sealed, as are the next two
    p256dh text COLLATE "C" NOT NULL,
    auth text COLLATE "C" NOT NULL,
    endpoint_hash text COLLATE "C" NOT NULL,
    created_at timestamptz(3) NOT NULL,
    updated_at timestamptz(3) NOT NULL,
    created_by text COLLATE "C",
    updated_by text COLLATE "C",
    deleted_at timestamptz(3),
    version bigint NOT NULL DEFAULT 1,
    PRIMARY KEY (organization_id, id)
);
CREATE UNIQUE INDEX push_subscription_endpoint
    ON notifications.push_subscription (organization_id, endpoint_hash)
    WHERE deleted_at IS NULL;
CREATE INDEX push_subscription_user
    ON notifications.push_subscription (organization_id, user_id, created_at)
    WHERE deleted_at IS NULL;

-- Notifications of users with an address that has not answered yet. Beside a row of
-- notifications.notification until the last one has. done: addresses that have, and what they said:
-- {"push_sub_1": "taken"}.
CREATE TABLE notifications.push (
    organization_id text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL, -- of the notification
    user_id text COLLATE "C" NOT NULL,
    event_id text COLLATE "C" NOT NULL,
    event_type text COLLATE "C" NOT NULL,
    resource_type text COLLATE "C" NOT NULL,
    resource_id text COLLATE "C" NOT NULL,
    location_id text COLLATE "C",
    title text NOT NULL,
    body text NOT NULL,
    done jsonb NOT NULL DEFAULT '{}',
    attempts integer NOT NULL DEFAULT 0,
    first_at timestamptz(3), -- of the first attempt
    wait_ms bigint NOT NULL DEFAULT 0, -- what services of this attempt ask to wait
    due_at timestamptz(3) NOT NULL, -- when it is sent; while it is sent: when that was cut off
    server text COLLATE "C", -- who sends it now
    number bigint GENERATED ALWAYS AS IDENTITY, -- the order in which they came
    PRIMARY KEY (organization_id, id)
);
CREATE INDEX push_due ON notifications.push (due_at);
CREATE INDEX push_resource
    ON notifications.push (organization_id, user_id, resource_type, resource_id);

SELECT wharf.protect_table(t::regclass)
FROM unnest(ARRAY['notifications.push_subscription', 'notifications.push']) AS t;
