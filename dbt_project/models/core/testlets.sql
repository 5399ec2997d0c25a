with current_items as (
    {{ current_rows(ref('stg_items')) }}
),

testlets as (
    select
        dataset,
        testlet_id,
        min(testlet_stimulus) as stimulus,
        min(testlet_rubric) as rubric,
        count(*) filter (where split = 'test') as n_items,
        count(*) filter (where split <> 'test') as n_other_items,
        count(distinct testlet_stimulus) as n_stimuli
    from current_items
    group by dataset, testlet_id
)

select * from testlets
