select
    coalesce(latest.dataset, before.dataset) as dataset,
    coalesce(latest.rater_id, before.rater_id) as rater_id,
    case
        when before.rater_id is null then 'new'
        when latest.rater_id is null then 'removed'
        when
            [latest.rank, latest.theta, latest.accuracy]
            = [before.rank, before.theta, before.accuracy]
            then 'unchanged'
        else 'changed'
    end as change,
    before.rank as rank_before,
    latest.rank as rank_after,
    before.theta as theta_before,
    latest.theta as theta_after,
    before.theta_se as theta_se_before,
    latest.theta_se as theta_se_after,
    before.accuracy as accuracy_before,
    latest.accuracy as accuracy_after
from {{ ref('leaderboard') }} as latest
full outer join {{ source('meta', 'previous_leaderboard') }} as before
    on latest.dataset = before.dataset and latest.rater_id = before.rater_id
