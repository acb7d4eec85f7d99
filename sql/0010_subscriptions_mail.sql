-- Only a test subscription has a clock of its own: service_now() + clock_offset. next_action_at is in the service's
-- time whatever that clock shows, so that one index finds what is due.
alter table subscriptions add constraint subscriptions_clock check (mode = 'test' or clock_offset = '0');

-- A mail is tried again until it is sent or its time is over; next_attempt_at is the schedule, and while one process
-- has it in hand, the time after which another may take it.
alter table requests add column attempt_count integer not null default 0;
alter table requests add column next_attempt_at timestamptz not null default service_now();
-- What a mail is about names it: asked for twice, it is sent once. A row is kept for a year after its mail (dispatcher/trim),
-- long after anything would ask for it again.
create unique index requests_mail_once on requests (subject) where kind = 'mail';
create index requests_mail_due on requests (next_attempt_at) where kind = 'mail' and done_at is null;
-- Finished requests are looked for by their end, to be trimmed.
create index requests_done on requests (done_at) where done_at is not null;
