//! Things by number: each gets the next number, and none is ever given again.
#![forbid(unsafe_code)]

use std::collections::BTreeMap;

/// Things by number. Those of the beginning lie side by side; later ones cost memory only while they are there, however
/// many have come and gone.
#[derive(Clone, Debug)]
pub struct Numbered<T> {
    first: Vec<Option<T>>,
    later: BTreeMap<usize, T>,
    next: usize,
    count: usize,
    sealed: bool,
}

impl<T> Default for Numbered<T> {
    fn default() -> Self {
        Self { first: Vec::new(), later: BTreeMap::new(), next: 0, count: 0, sealed: false }
    }
}

impl<T> Numbered<T> {
    /// Adds a thing and gives its number.
    pub fn push(&mut self, thing: T) -> usize {
        let number = self.next;
        if self.sealed {
            self.later.insert(number, thing);
        } else {
            self.first.push(Some(thing));
        }
        self.next += 1;
        self.count += 1;
        number
    }

    /// The beginning is over: what is added from here on may come and go often.
    pub fn seal(&mut self) {
        self.sealed = true;
    }

    /// The number that the next thing gets.
    pub fn next(&self) -> usize {
        self.next
    }

    /// Leaves out the numbers before `number`, as if things had come and gone. Only after [`Numbered::seal`], and never back.
    pub fn skip_to(&mut self, number: usize) {
        if self.sealed {
            self.next = self.next.max(number);
        }
    }

    /// The thing of a number.
    pub fn get(&self, number: usize) -> Option<&T> {
        match self.first.get(number) {
            Some(thing) => thing.as_ref(),
            None => self.later.get(&number),
        }
    }

    /// As [`Numbered::get`], to change it.
    pub fn get_mut(&mut self, number: usize) -> Option<&mut T> {
        match self.first.get_mut(number) {
            Some(thing) => thing.as_mut(),
            None => self.later.get_mut(&number),
        }
    }

    /// Takes a thing out.
    pub fn remove(&mut self, number: usize) -> Option<T> {
        let thing = match self.first.get_mut(number) {
            Some(thing) => thing.take(),
            None => self.later.remove(&number),
        };
        self.count -= usize::from(thing.is_some());
        thing
    }

    /// All things with their numbers, ascending.
    pub fn iter(&self) -> impl Iterator<Item = (usize, &T)> {
        let first = self.first.iter().enumerate().filter_map(|(number, thing)| Some((number, thing.as_ref()?)));
        first.chain(self.later.iter().map(|(number, thing)| (*number, thing)))
    }

    /// All things, in the order of their numbers.
    pub fn values(&self) -> impl Iterator<Item = &T> {
        self.first.iter().flatten().chain(self.later.values())
    }

    /// As [`Numbered::values`], to change them.
    pub fn values_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.first.iter_mut().flatten().chain(self.later.values_mut())
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Whether numbers below [`Numbered::next`] are without a thing.
    pub fn has_gaps(&self) -> bool {
        self.count != self.next
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_never_given_again() {
        let mut things = Numbered::default();
        assert_eq!([things.push('a'), things.push('b')], [0, 1]);
        things.seal();
        assert_eq!(things.push('c'), 2);
        assert_eq!((things.remove(2), things.remove(2), things.remove(0)), (Some('c'), None, Some('a')));
        assert_eq!(things.push('d'), 3);
        things.skip_to(7);
        things.skip_to(5);
        assert_eq!(things.push('e'), 7);
        assert_eq!(things.iter().map(|(n, c)| (n, *c)).collect::<Vec<_>>(), [(1, 'b'), (3, 'd'), (7, 'e')]);
        assert_eq!(things.values().collect::<String>(), "bde");
        assert_eq!((things.len(), things.next(), things.has_gaps(), things.is_empty()), (3, 8, true, false));
        *things.get_mut(7).unwrap() = 'f';
        assert_eq!((things.get(7), things.get(0), things.get(100)), (Some(&'f'), None, None));
    }
}
