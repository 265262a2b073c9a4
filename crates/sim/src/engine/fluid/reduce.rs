//! Which links can limit, and which paths they tie together.
//!
//! A link never limits where other links, each of them crossed by some of its paths and together by all of them, carry no
//! more than it does: what they let through fits. Its constraint then follows from theirs, so that the region of rates that
//! are possible, and with it the max-min point, is the same without it. An adapter's bus that is wider than all of its ports
//! is one, and so is an array's port whose I/Os all come through one port of a host that is as fast. (In the progressive
//! filling its offer is a mean of theirs with what others left: never less than the least of them.)

/// Links that limit and the paths that cross them, which share none of them with other paths.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    pub links: Vec<u16>,
    pub paths: Vec<u32>,
}

/// All paths and all of `links` as one group.
pub fn plain(paths: &[&[u16]], links: usize) -> Vec<Group> {
    let links = (0..links).map(|link| link as u16).collect();
    vec![Group { links, paths: (0..paths.len() as u32).collect() }]
}

/// The groups of `paths` over links with the least and the greatest rate that each will have.
pub fn groups(paths: &[&[u16]], ranges: &[(u64, u64)]) -> Vec<Group> {
    let kept = limiting(paths, ranges);
    let mut groups: Vec<Group> = Vec::new();
    for (number, path) in (0..).zip(paths) {
        let links: Vec<u16> =
            path.iter().copied().filter(|link| kept[usize::from(*link)]).collect();
        let mut group = Group { links, paths: vec![number] };
        // Whatever shares a link with it becomes one with it.
        let shares = |other: &Group| other.links.iter().any(|link| group.links.contains(link));
        let (tied, apart): (Vec<Group>, Vec<Group>) = groups.into_iter().partition(shares);
        for other in tied {
            group.links.extend(other.links);
            group.paths.extend(other.paths);
        }
        group.links.sort_unstable();
        group.links.dedup();
        group.paths.sort_unstable();
        groups = apart;
        groups.push(group);
    }
    groups.sort_unstable_by_key(|group| group.paths.first().copied());
    groups
}

/// Which of the links may limit: the widest are asked first whether they can be left out.
fn limiting(paths: &[&[u16]], ranges: &[(u64, u64)]) -> Vec<bool> {
    let mut crossed: Vec<Vec<usize>> = vec![Vec::new(); ranges.len()];
    for (number, path) in paths.iter().enumerate() {
        path.iter().for_each(|link| crossed[usize::from(*link)].push(number));
    }
    let mut kept: Vec<bool> = crossed.iter().map(|paths| !paths.is_empty()).collect();
    let mut widest: Vec<usize> = (0..ranges.len()).filter(|link| kept[*link]).collect();
    // Of equal ones those that fewer paths cross first: what is left then ties fewer together.
    widest.sort_by_key(|link| {
        (std::cmp::Reverse(ranges[*link].0), crossed[*link].len(), std::cmp::Reverse(*link))
    });
    for link in widest {
        kept[link] = false;
        kept[link] = !is_covered(link, paths, ranges, &crossed, &kept);
    }
    kept
}

/// Whether other kept links that all paths over `link` cross carry no more than it does, in all.
fn is_covered(
    link: usize,
    paths: &[&[u16]],
    ranges: &[(u64, u64)],
    crossed: &[Vec<usize>],
    kept: &[bool],
) -> bool {
    let mut room = ranges[link].0;
    let mut open: Vec<usize> = crossed[link].clone();
    // Each that is still open by the link that covers most of those that are, for its rate: greedy, so that a cover may be
    // missed, which costs time and no exactness.
    while let Some(first) = open.first() {
        let covers = paths[*first].iter().map(|by| usize::from(*by)).filter(|by| kept[*by]);
        let share =
            |by: usize| open.iter().filter(|path| crossed[by].binary_search(path).is_ok()).count();
        let Some(best) = covers.max_by(|a, b| {
            let (a, b) = ((share(*a), ranges[*a].1), (share(*b), ranges[*b].1));
            (a.0 as u128 * u128::from(b.1)).cmp(&(b.0 as u128 * u128::from(a.1)))
        }) else {
            return false;
        };
        let Some(rest) = room.checked_sub(ranges[best].1) else { return false };
        room = rest;
        open.retain(|path| crossed[best].binary_search(path).is_err());
    }
    true
}
