-- A prompt that a policy or a judge was asked with, by the step or the judgement that the reply became, as what is new in it:
-- `messages` follow the first `base_messages` of the prompt `base_id`, and `tokens` follow the first `tokens_kept` of the token
-- ids of that prompt and the reply to it. `length` and `token_count` count all. `structured`: a message is more than texts and pictures. `step_id` is null where the reply is a judgement.
create table prompts (
  prompt_id        uuid        not null,
  step_id          uuid,
  tree_id          uuid        not null,
  run_id           uuid        not null,
  base_id          uuid,
  base_messages    integer     not null,
  messages         jsonb       not null, --: Record<string, unknown>[]
  length           integer     not null,
  with_images      boolean     not null,
  structured       boolean     not null,
  sha256           text        not null,
  template         text,
  template_version integer,
  tools            text,
  sampling         jsonb       not null, --: Record<string, unknown>
  server           text,
  model            text,
  answer           jsonb, --: Record<string, unknown>
  tokens_before    integer,
  tokens_kept      integer,
  tokens           jsonb, --: Record<string, unknown>
  token_count      integer,
  drifted          boolean     not null,
  log_offset       bigint      not null,
  shown_at         timestamptz not null,
  blobs            jsonb, --: Blobs
  primary key (prompt_id, tree_id),
  unique (step_id, tree_id)
);
create index prompts_tree on prompts (tree_id, log_offset);
create index prompts_drifted on prompts (run_id) where drifted;

-- Each text of a prompt that no step holds, once, by its digest.
create table prompt_blocks (
  sha256 text not null primary key,
  text   text not null,
  blobs  jsonb --: Blobs
);
