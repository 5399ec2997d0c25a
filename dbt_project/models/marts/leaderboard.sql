{%- set metrics = [
    'accuracy', 'accuracy_all', 'accuracy_common', 'qwk', 'qwk_observed_categories',
    'cohen_kappa', 'pearson_r', 'mae', 'rmse', 'f1_macro', 'f1_weighted',
    'precision_macro', 'precision_weighted', 'recall_macro', 'recall_weighted'
] -%}

with raters_of_datasets as (
    select
        dataset,
        rater_id,
        count(*) as n_items,
        count(*) filter (where status = 'ok') as n_answered,
        count(is_correct) as n_scored
    from {{ ref('response_matrix') }}
    group by dataset, rater_id
),

abilities as (
    select
        raters.*,
        fits.is_primary
    from {{ source('psychometrics', 'irt_raters') }} as raters
    inner join {{ source('psychometrics', 'irt_fits') }} as fits using (fit_id)
    where fits.pool = 'all' and (fits.is_primary or fits.missing_policy = 'incorrect')
),

leaderboard as (
    select
        raters.dataset,
        raters.rater_id,
        cast(null as varchar) as submission_id,
        true as is_latest,
        false as is_reference,
        omitted.fit_id,
        raters.n_items,
        raters.n_answered,
        raters.n_scored,
        raters.n_answered / raters.n_items as coverage,
        agreement.scope,
        agreement.n_common,
        {%- for metric in metrics %}
        agreement.{{ metric }},
        {%- endfor %}
        omitted.theta,
        omitted.theta_se,
        omitted.rank,
        case
            when omitted.rank is null
                then coalesce(omitted.undefined_reason, fits.undefined_reason, 'no fit')
        end as rank_undefined_reason,
        counted_wrong.theta as theta_missing_wrong,
        counted_wrong.rank as rank_missing_wrong,
        {{ rank_of('agreement.accuracy', 'raters.dataset') }} as rank_accuracy,
        {{ rank_of('agreement.accuracy_common', 'raters.dataset') }} as rank_accuracy_common,
        {{ rank_of('agreement.qwk', 'raters.dataset') }} as rank_qwk,
        {{ rank_of('agreement.f1_macro', 'raters.dataset') }} as rank_f1_macro,
        agreement.undefined_reason
    from raters_of_datasets as raters
    left join {{ ref('rater_agreement') }} as agreement
        on
            raters.dataset = agreement.dataset
            and raters.rater_id = agreement.rater_id
            and agreement.is_default
    left join {{ source('psychometrics', 'irt_fits') }} as fits
        on raters.dataset = fits.dataset and fits.pool = 'all' and fits.is_primary
    left join abilities as omitted
        on
            raters.dataset = omitted.dataset
            and raters.rater_id = omitted.rater_id
            and omitted.is_primary
    left join abilities as counted_wrong
        on
            raters.dataset = counted_wrong.dataset
            and raters.rater_id = counted_wrong.rater_id
            and not counted_wrong.is_primary
)

select * from leaderboard
