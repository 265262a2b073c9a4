//! A slab: a table of reusable slots, addressed by small numbers.

pub(super) struct SlotTable<T> {
    places: Vec<Option<T>>,
    free: Vec<u32>,
}

impl<T> SlotTable<T> {
    /// An empty one.
    pub fn new() -> SlotTable<T> {
        SlotTable { places: Vec::new(), free: Vec::new() }
    }

    /// Puts something in a free place.
    pub fn insert(&mut self, value: T) -> u32 {
        if let Some(index) = self.free.pop() {
            self.places[index as usize] = Some(value);
            return index;
        }
        self.places.push(Some(value));
        self.places.len() as u32 - 1
    }

    /// Empties a place.
    pub fn remove(&mut self, index: u32) -> Option<T> {
        let value = self.places.get_mut(index as usize)?.take()?;
        self.free.push(index);
        Some(value)
    }

    /// What is there.
    pub fn get_mut(&mut self, index: u32) -> Option<&mut T> {
        self.places.get_mut(index as usize)?.as_mut()
    }

    /// The places in use.
    pub fn keys(&self) -> impl Iterator<Item = u32> + use<T> {
        let used: Vec<u32> =
            (0u32..).zip(&self.places).filter(|(_, p)| p.is_some()).map(|(i, _)| i).collect();
        used.into_iter()
    }

    /// Everything there is.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &T)> {
        (0u32..).zip(&self.places).filter_map(|(index, place)| Some((index, place.as_ref()?)))
    }

    /// How many places are in use.
    pub fn len(&self) -> usize {
        self.places.len() - self.free.len()
    }
}
