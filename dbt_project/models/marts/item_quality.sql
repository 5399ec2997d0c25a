with asked_items as (
    select distinct
        dataset,
        item_id,
        testlet_id
    from {{ ref('response_matrix') }}
),

classical as (
    select *
    from {{ source('psychometrics', 'ctt_items') }}
    where pool = 'all' and scope = 'global' and missing_policy = 'omit'
),

difficulties as (
    select items.*
    from {{ source('psychometrics', 'irt_items') }} as items
    semi join {{ source('psychometrics', 'irt_fits') }} as fits
        on items.fit_id = fits.fit_id and fits.is_primary
),

item_quality as (
    select
        asked_items.dataset,
        asked_items.item_id,
        asked_items.testlet_id,
        difficulties.fit_id,
        classical.n_raters,
        classical.facility,
        classical.item_total_r,
        classical.item_rest_r,
        difficulties.b,
        difficulties.b_se,
        difficulties.b_se_by_model,
        difficulties.difficulty_bin,
        concat_ws(
            ',',
            case when classical.facility in (0, 1) then 'constant' end,
            case when difficulties.is_extreme then 'extreme' end,
            -- below chance for those who do well otherwise: look at the key before the item
            case when classical.item_rest_r < 0 then 'key_suspect' end,
            case when coalesce(classical.n_raters, 0) = 0 then 'unanswered' end
        ) as flags,
        classical.undefined_reason
    from asked_items
    left join classical
        on asked_items.dataset = classical.dataset and asked_items.item_id = classical.item_id
    left join difficulties
        on asked_items.dataset = difficulties.dataset and asked_items.item_id = difficulties.item_id
)

select * from item_quality
