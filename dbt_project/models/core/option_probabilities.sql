with distributions as (
    select
        responses.dataset,
        responses.rater_id,
        responses.item_id,
        responses.replicate,
        attempts.kind,
        schemes.options,
        raters.option_rotation,
        unnest(
            map_entries(cast(cast(attempts.option_logprobs as json) as map (varchar, double)))
        ) as shown
    from {{ ref('responses') }} as responses
    inner join {{ ref('attempts') }} as attempts using (attempt_id)
    inner join {{ ref('response_schemes') }} as schemes using (scheme_hash)
    inner join {{ ref('raters') }} as raters
        on responses.rater_id = raters.rater_id
    where attempts.option_logprobs is not null
),

option_logprobs as (
    select
        dataset,
        rater_id,
        item_id,
        replicate,
        case
            when kind = 'choice'
                then {{ own_option('upper(shown.key)', 'options', 'option_rotation') }}
            else shown.key
        end as option,
        shown.value as logprob
    from distributions
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
