//! A slab of items with small reusable numbers: no allocation once it has grown to its maximum.

#[derive(Debug)]
pub(super) struct Slab<T> {
    places: Vec<Option<T>>,
    free: Vec<u32>,
}

impl<T> Slab<T> {
    pub fn new() -> Slab<T> {
        Slab { places: Vec::new(), free: Vec::new() }
    }

    /// Puts something in; the number is free for something else once it is taken out.
    pub fn insert(&mut self, thing: T) -> u32 {
        match self.free.pop() {
            Some(at) => {
                self.places[at as usize] = Some(thing);
                at
            }
            None => {
                self.places.push(Some(thing));
                (self.places.len() - 1) as u32
            }
        }
    }

    pub fn get_mut(&mut self, at: u32) -> Option<&mut T> {
        self.places.get_mut(at as usize)?.as_mut()
    }

    pub fn remove(&mut self, at: u32) -> Option<T> {
        let thing = self.places.get_mut(at as usize)?.take()?;
        self.free.push(at);
        Some(thing)
    }

    pub fn len(&self) -> usize {
        self.places.len() - self.free.len()
    }

    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.places.iter_mut().flatten()
    }
}
