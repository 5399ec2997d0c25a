{{ config(materialized='view') }}

with planned_responses as (
    select responses.*
    from {{ ref('stg_responses') }} as responses
    semi join {{ ref('stg_requests') }} as requests using (request_id)
),

attempts as (
    select
        responses.attempt_id,
        responses.request_id,
        responses.attempt,
        responses.rater_id,
        responses.dataset,
        responses.item_id,
        responses.replicate,
        items.scheme_hash,
        case raters.task
            when 'predict_discrimination' then 'discrimination'
            when 'predict_difficulty' then 'difficulty'
            else schemes.response_kind
        end as kind,
        responses.text,
        responses.finish_reason,
        responses.error_kind,
        responses.error_type,
        responses.error_message,
        responses.prompt_tokens,
        responses.completion_tokens,
        responses.latency_seconds,
        responses.prompt_hash,
        responses.option_logprobs,
        responses.finished_at
    from planned_responses as responses
    inner join {{ ref('items') }} as items using (dataset, item_id)
    inner join {{ ref('response_schemes') }} as schemes using (scheme_hash)
    inner join {{ ref('raters') }} as raters using (rater_id)
)

select * from attempts
