//! How often each bit is set in many numbers.

/// Numbers next to each other, of which each is added to counters of its own.
const LANES: usize = 8;

/// Numbers that are added to a lane at once.
const AT_ONCE: usize = 16;

/// Numbers that are added at a time.
pub(super) const BATCH: usize = 2 * AT_ONCE * LANES;

/// Bits of a counter: enough for each byte of a page.
const PLANES: usize = 18;

/// How many numbers have each of their 64 bits set. A counter lies across the planes: bit 5 of all planes of a lane together is its counter of bit 5.
pub(super) struct BitCounts {
    /// Numbers.
    all: u64,
    planes: [Lanes; PLANES],
}

type Lanes = [u64; LANES];

impl BitCounts {
    #[inline(always)]
    pub(super) fn new() -> Self {
        Self { all: 0, planes: [[0; LANES]; PLANES] }
    }

    /// Adds `all` numbers, and zeros behind them, 16 in each lane at once, as full adders of a circuit would: about six operations a vector for all bits.
    #[inline(always)]
    pub(super) fn add(&mut self, numbers: &[u64; BATCH], all: usize) {
        let (vectors, _) = numbers.as_chunks();
        let (sixteens, _) = vectors.as_chunks();
        for sixteen in sixteens {
            add_sixteen(&mut self.planes, sixteen);
        }
        self.all += all as u64;
    }

    /// The bits that are set in more than half of the numbers.
    #[inline(always)]
    pub(super) fn set_in_most(&self) -> u64 {
        let half = self.all / 2;
        // From the highest bit of the sums on: those that are greater, and those that are the same as far as they were looked at.
        let (mut greater, mut same) = (0, u64::MAX);
        for (power, plane) in self.sums().iter().enumerate().rev() {
            let limit = if half >> power & 1 == 1 { u64::MAX } else { 0 };
            greater |= same & plane & !limit;
            same &= !(plane ^ limit);
        }
        greater
    }

    /// The counters of all lanes together.
    #[inline(always)]
    fn sums(&self) -> [u64; PLANES] {
        let mut sums = self.planes;
        let mut half = LANES / 2;
        while half > 0 {
            let mut carry = [0; LANES];
            for plane in &mut sums {
                for lane in 0..half {
                    let (a, b, c) = (plane[lane], plane[lane + half], carry[lane]);
                    plane[lane] = a ^ b ^ c;
                    carry[lane] = a & b | c & (a ^ b);
                }
            }
            half /= 2;
        }
        sums.map(|plane| plane[0])
    }
}

/// Adds sixteen numbers in each lane to the planes.
#[inline(always)]
fn add_sixteen(planes: &mut [Lanes; PLANES], numbers: &[Lanes; AT_ONCE]) {
    let [mut ones, mut twos, mut fours, mut eights, ..] = *planes;
    let mut four = |[n0, n1, n2, n3]: [Lanes; 4]| {
        let (low, high) = (add(&mut ones, n0, n1), add(&mut ones, n2, n3));
        add(&mut twos, low, high)
    };
    let [n0, n1, n2, n3, n4, n5, n6, n7, n8, n9, n10, n11, last @ ..] = *numbers;
    let low = add(&mut fours, four([n0, n1, n2, n3]), four([n4, n5, n6, n7]));
    let high = add(&mut fours, four([n8, n9, n10, n11]), four(last));
    let mut carry = add(&mut eights, low, high);
    planes[..4].copy_from_slice(&[ones, twos, fours, eights]);
    for plane in &mut planes[4..] {
        for (bits, carry) in plane.iter_mut().zip(&mut carry) {
            (*bits, *carry) = (*bits ^ *carry, *bits & *carry);
        }
    }
}

/// Adds two numbers in each lane to a plane, and gives what is carried to the next one.
#[inline(always)]
fn add(plane: &mut Lanes, a: Lanes, b: Lanes) -> Lanes {
    let mut carry = [0; LANES];
    for lane in 0..LANES {
        let either = plane[lane] ^ a[lane];
        carry[lane] = plane[lane] & a[lane] | either & b[lane];
        plane[lane] = either ^ b[lane];
    }
    carry
}
