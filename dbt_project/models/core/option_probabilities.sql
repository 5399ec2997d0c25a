with distributions as (
    select
        responses.dataset,
        responses.rater_id,
        responses.item_id,
        responses.replicate,
        responses.status,
        schemes.response_kind,
        schemes.options,
        raters.option_rotation,
        cast(
            cast(
                case
                    when schemes.response_kind = 'choice' then upper(attempts.option_logprobs)
                    else attempts.option_logprobs
                end as json
            ) as map (varchar, double)
        ) as told,
        -- what the response was held to, as it was shown
        case schemes.response_kind
            when 'label' then schemes.labels
            when 'choice' then schemes.options
            else list_transform(
                range(cast(schemes.lowest as bigint), cast(schemes.highest as bigint) + 1),
                lambda score: cast(score as varchar)
            )
        end as allowed
    from {{ ref('responses') }} as responses
    inner join {{ ref('items') }} as items using (dataset, item_id)
    inner join {{ ref('response_schemes') }} as schemes using (scheme_hash)
    inner join {{ ref('raters') }} as raters
        on responses.rater_id = raters.rater_id
    left join {{ ref('attempts') }} as attempts
        on responses.attempt_id = attempts.attempt_id
    where
        raters.task in ('grade', 'answer')
        and (
            attempts.option_logprobs is not null
            -- what a condition sets goes before what its model sets
            or coalesce(
                raters.settings ->> '$.condition.settings.option_logprobs',
                raters.settings ->> '$.settings.option_logprobs'
            ) = 'true'
        )
),

shown_options as (
    select
        *,
        unnest(list_distinct(list_concat(allowed, map_keys(told)))) as shown
    from distributions
),

option_logprobs as (
    select
        dataset,
        rater_id,
        item_id,
        replicate,
        case
            when response_kind = 'choice'
                then {{ own_option('shown', 'options', 'option_rotation') }}
            else shown
        end as option,
        told[shown] as logprob,
        case
            when told[shown] is not null then null
            when told is not null then 'not_pointed_to'
            when status in ('not_asked', 'error', 'not_recorded') then status
            else 'not_traced'
        end as undefined_reason
    from shown_options
),

option_probabilities as (
    select
        *,
        exp(logprob) / sum(exp(logprob)) over (
            partition by dataset, rater_id, item_id, replicate
        ) as probability
    from option_logprobs
)

select * from option_probabilities
