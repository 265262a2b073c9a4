//! The signs of each sort of answer: numbers, mostly 0 to 1, that speak for the answer or against it. What is not known is 0.

/// Declares a struct of named signs for each sort of answer. The same structs hold the weights of the signs.
macro_rules! signs {
    ($($sort:ident $row:ident $signs:ident $about:literal { $($sign:ident $says:literal)+ })+) => {
        $(
            #[doc = $about]
            #[derive(Clone, Copy, Debug, Default, PartialEq)]
            pub struct $signs {
                $(#[doc = $says] pub $sign: f64,)+
            }
        )+

        /// The signs of one answer, by its sort.
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub enum Signs {
            $(#[doc = $about] $sort($signs),)+
        }

        /// The weights of all signs.
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub struct Weights {
            $(#[doc = $about] pub $row: $signs,)+
        }

        impl Weights {
            /// No weights.
            pub const ZERO: Weights = Weights { $($row: $signs { $($sign: 0.0),+ },)+ };

            /// The sum of the signs times their weights, in the order in which they are declared.
            pub fn score(&self, signs: &Signs) -> f64 {
                match signs {
                    $(Signs::$sort(of) => [$(of.$sign * self.$row.$sign),+].iter().sum(),)+
                }
            }

            /// Adds signs, `factor` times, to the weights of their sort.
            pub fn add(&mut self, signs: &Signs, factor: f64) {
                match signs {
                    $(Signs::$sort(of) => {
                        $(self.$row.$sign += factor * of.$sign;)+
                    })+
                }
            }

            /// Every weight, in the order in which they are declared.
            pub fn each_mut(&mut self) -> impl Iterator<Item = &mut f64> {
                [$($(&mut self.$row.$sign,)+)+].into_iter()
            }
        }
    };
}

signs! {
    Hop hop HopSigns "A hop that serves all it can." {
        base "Always 1."
        full "How full it is."
        lead "How far it is ahead of the fullest other hop, -1 to 1."
        queued "The share of the I/Os under way within the hops that is at it."
        inelastic "1: more load brings no throughput; -1: it brings as much as was added."
        grew "The share of added latency that passes at it."
        idle_siblings "1 where parallel paths have room."
        drains "How far it holds up a port with other traffic."
        twin "How close the fullest other hop is."
        unseen "Of processors under an observed load: how much of its time passes where no limit is known."
        high "Of an observed load: how near to full it is, below what counts as full."
        blur "Of an observed load: how long a sample is, from 0 at 20 s to 1 at 300 s."
    }
    Slots slots SlotsSigns "A queue limit that is reached." {
        base "Always 1."
        full "How full the queue limit is."
        waits "The share of I/Os in flight that wait for it."
        inside_full "How full the fullest hop is."
        unexplained "The share of time at no hop that says how full it is."
        inelastic "1: more load brings no throughput; -1: it brings as much as was added."
        grew "The share of added latency that passes at it."
        deeper "How full and waited for a queue limit closer to the device is."
        delay "The share of time at the hop where most passes without waiting."
        unseen "Of an observed load: how much of its time passes where no limit is known."
        high "Of an observed load: how near to full it is, below what counts as full."
        blur "Of an observed load: how long a sample is, from 0 at 20 s to 1 at 300 s."
    }
    Two two TwoSigns "Two hops that are full at once." {
        base "Always 1."
        full "How full the second is."
        close "How close the two are."
        third "How close a third one is."
        inelastic "1: more load brings no throughput; -1: it brings as much as was added."
        queued "The share of the I/Os under way within the hops that is at the two."
    }
    Imbalance imbalance ImbalanceSigns "One of several paths that is full while others have room." {
        base "Always 1."
        full "How full the fullest path is."
        gap "How far the next path is below it."
        lead "How far it is ahead of the fullest other hop, -1 to 1."
        queued "The share of the I/Os under way within the hops that is at it."
        inelastic "1: more load brings no throughput; -1: it brings as much as was added."
    }
    Drain drain DrainSigns "A port whose slots are taken by I/Os to a slow target." {
        base "Always 1."
        full "How full the port's queue limit is."
        waits "The share of I/Os in flight that wait for the port."
        drain_full "How full the slow target is."
        victims "The share of the port's traffic that goes elsewhere."
        inelastic "1: more load brings no throughput; -1: it brings as much as was added."
    }
    Depth depth DepthSigns "Worker depth." {
        base "Always 1."
        full "How full the fullest hop is."
        filled "The share of the depth in flight."
        waits "The share of I/Os in flight that wait anywhere."
        dominant "The share of time at the hop where most passes without waiting."
        unexplained "The share of time at no hop that says how full it is."
        inelastic "1: more load brings no throughput; -1: it brings as much as was added."
        pauses "The share of the depth that is absent because its slots pause."
        queue_full "How full and waited for the worst queue limit is."
    }
    Latency latency LatencySigns "Worker depth against the latency of a hop." {
        base "Always 1."
        full "How full the fullest hop is."
        dominant "The share of time at the hop where most passes without waiting."
        waits "The share of I/Os in flight that wait anywhere."
        filled "The share of the depth in flight."
        unexplained "The share of time at no hop that says how full it is."
        inelastic "1: more load brings no throughput; -1: it brings as much as was added."
        pauses "The share of the depth that is absent because its slots pause."
        queue_full "How full and waited for the worst queue limit is."
    }
    Generator generator GeneratorSigns "The generator." {
        base "Always 1."
        own "The generator's own share of the time."
        empty "The share of the depth that is not in flight."
        cpu "The share of processor time that the generator uses."
        full "How full the fullest hop or queue limit is."
        verdict "What the generator reports: 1 its own cost, up to 0.5 limited."
        late "The share of I/Os that started late."
    }
    Rate rate RateSigns "The requested rate, which was carried." {
        base "Always 1."
        short "How far an open loop stays below its rate."
        full "How full the fullest hop is."
        waits "The share of I/Os in flight that wait anywhere."
    }
    None none NoneSigns "Nothing: the workers pause." {
        base "Always 1."
        full "How full the fullest hop is."
        filled "The share of the depth in flight."
        waits "The share of I/Os in flight that wait anywhere."
        unseen "Of an observed load: how much may have been full unseen, between samples or where no limit is known."
        high "Of an observed load: how near to full the fullest hop is, below what counts as full."
        blur "Of an observed load: how long a sample is, from 0 at 20 s to 1 at 300 s."
    }
    Unknown unknown UnknownSigns "Not determined: counters are missing." {
        base "Always 1."
        unexplained "The share of time at no hop that says how full it is."
        full "How full the fullest hop is."
        silent "1 where a hop has no known limit."
        blind "1 where no hop has."
        open "1 in an open loop."
        queue_full "How full and waited for the worst queue limit is."
        unseen "Of an observed load: how much may have been full unseen, between samples or where no limit is known."
        high "Of an observed load: how near to full the fullest hop is, below what counts as full."
        blur "Of an observed load: how long a sample is, from 0 at 20 s to 1 at 300 s."
    }
}
