//! Which links can limit, and which paths they connect.
//!
//! A link never limits where other links, each crossed by some of its paths and together by all of them, carry no more
//! than it does: what they let through fits. Its constraint follows from theirs, so the feasible rates, and with them
//! the max-min point, are the same without it. Examples are an adapter's bus that is wider than all its ports, and an
//! array's port whose I/Os all come through one host port of equal speed. (In progressive filling its offer is a mean
//! of theirs and of what others left: never below the least of them.)

/// Links that limit and the paths that cross them; they share no link with other groups.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkGroup {
    pub links: Vec<u16>,
    pub paths: Vec<u32>,
}

/// All paths and all of `links` as one group.
pub fn plain(paths: &[&[u16]], links: usize) -> Vec<LinkGroup> {
    let links = (0..links).map(|link| link as u16).collect();
    vec![LinkGroup { links, paths: (0..paths.len() as u32).collect() }]
}

/// The groups of `paths`, given the least and the greatest rate of each link.
pub fn groups(paths: &[&[u16]], ranges: &[(u64, u64)]) -> Vec<LinkGroup> {
    let kept = limiting(paths, ranges);
    let mut groups: Vec<LinkGroup> = Vec::new();
    for (number, path) in (0..).zip(paths) {
        let links: Vec<u16> =
            path.iter().copied().filter(|link| kept[usize::from(*link)]).collect();
        let mut group = LinkGroup { links, paths: vec![number] };
        // Groups that share a link are merged.
        let shares = |other: &LinkGroup| other.links.iter().any(|link| group.links.contains(link));
        let (tied, apart): (Vec<LinkGroup>, Vec<LinkGroup>) = groups.into_iter().partition(shares);
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

/// Which links may limit. The widest are tested first for being redundant.
fn limiting(paths: &[&[u16]], ranges: &[(u64, u64)]) -> Vec<bool> {
    let mut crossed: Vec<Vec<usize>> = vec![Vec::new(); ranges.len()];
    for (number, path) in paths.iter().enumerate() {
        path.iter().for_each(|link| crossed[usize::from(*link)].push(number));
    }
    let mut kept: Vec<bool> = crossed.iter().map(|paths| !paths.is_empty()).collect();
    let mut widest: Vec<usize> = (0..ranges.len()).filter(|link| kept[*link]).collect();
    // Among equal links, those that fewer paths cross first: the rest then connects fewer paths.
    widest.sort_by_key(|link| {
        (std::cmp::Reverse(ranges[*link].0), crossed[*link].len(), std::cmp::Reverse(*link))
    });
    for link in widest {
        kept[link] = false;
        kept[link] = !is_covered(link, paths, ranges, &crossed, &kept);
    }
    kept
}

/// Whether other kept links cover all paths over `link` and carry no more than it in all.
fn is_covered(
    link: usize,
    paths: &[&[u16]],
    ranges: &[(u64, u64)],
    crossed: &[Vec<usize>],
    kept: &[bool],
) -> bool {
    let mut room = ranges[link].0;
    let mut open: Vec<usize> = crossed[link].clone();
    // Greedy: an uncovered path is covered by the link that covers most uncovered paths for its rate. A cover may be
    // missed, which costs time but not exactness.
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
