;; The inner loops of a resize, on vectors of 128 bits. `../lanczos.ts` is the plain form of what they do, byte for byte.
;;
;; A weight of 22 fractional bits is given in two halves, weight = upper * 4096 + lower with lower from 0 to 4095, so that each
;; multiplies bytes as 16-bit integers and `dot` sums up pairs of products: exact in 32 bits, and faster than 32-bit products.
(module
  (memory (export "memory") 1)

  ;; Weighs rows. `rows`: addresses of rows, 4 bytes each, from the first of the window, two for each pair. `weights`: for each
  ;; pair the upper halves of both (2 x 2 bytes), then the lower. Writes `count` bytes, rounded up to 16, from column `left`.
  (func (export "mixRows")
    (param $rows i32) (param $left i32) (param $weights i32) (param $pairs i32) (param $to i32) (param $count i32)
    (local $end i32) (local $row i32) (local $weight i32) (local $lastWeight i32)
    (local $a v128) (local $b v128) (local $c v128) (local $d v128) (local $upper v128) (local $lower v128)
    (local $u0 v128) (local $u1 v128) (local $u2 v128) (local $u3 v128)
    (local $l0 v128) (local $l1 v128) (local $l2 v128) (local $l3 v128)
    (local.set $end (i32.add (local.get $to) (local.get $count)))
    (local.set $lastWeight (i32.add (local.get $weights) (i32.shl (local.get $pairs) (i32.const 3))))
    (loop $block
      (local.set $row (local.get $rows))
      (local.set $weight (local.get $weights))
      (local.set $u0 (v128.const i32x4 0 0 0 0))
      (local.set $u1 (v128.const i32x4 0 0 0 0))
      (local.set $u2 (v128.const i32x4 0 0 0 0))
      (local.set $u3 (v128.const i32x4 0 0 0 0))
      (local.set $l0 (v128.const i32x4 0x200000 0x200000 0x200000 0x200000)) ;; a half, which rounds
      (local.set $l1 (v128.const i32x4 0x200000 0x200000 0x200000 0x200000))
      (local.set $l2 (v128.const i32x4 0x200000 0x200000 0x200000 0x200000))
      (local.set $l3 (v128.const i32x4 0x200000 0x200000 0x200000 0x200000))
      (loop $pair
        (local.set $a (v128.load (i32.add (i32.load (local.get $row)) (local.get $left))))
        (local.set $b (v128.load (i32.add (i32.load offset=4 (local.get $row)) (local.get $left))))
        (local.set $upper (v128.load32_splat (local.get $weight)))
        (local.set $lower (v128.load32_splat offset=4 (local.get $weight)))
        (local.set $c (i8x16.shuffle 0 16 1 17 2 18 3 19 4 20 5 21 6 22 7 23 (local.get $a) (local.get $b)))
        (local.set $d (i8x16.shuffle 8 24 9 25 10 26 11 27 12 28 13 29 14 30 15 31 (local.get $a) (local.get $b)))
        (local.set $u0 (i32x4.add (local.get $u0) (i32x4.dot_i16x8_s (i16x8.extend_low_i8x16_u (local.get $c)) (local.get $upper))))
        (local.set $l0 (i32x4.add (local.get $l0) (i32x4.dot_i16x8_s (i16x8.extend_low_i8x16_u (local.get $c)) (local.get $lower))))
        (local.set $u1 (i32x4.add (local.get $u1) (i32x4.dot_i16x8_s (i16x8.extend_high_i8x16_u (local.get $c)) (local.get $upper))))
        (local.set $l1 (i32x4.add (local.get $l1) (i32x4.dot_i16x8_s (i16x8.extend_high_i8x16_u (local.get $c)) (local.get $lower))))
        (local.set $u2 (i32x4.add (local.get $u2) (i32x4.dot_i16x8_s (i16x8.extend_low_i8x16_u (local.get $d)) (local.get $upper))))
        (local.set $l2 (i32x4.add (local.get $l2) (i32x4.dot_i16x8_s (i16x8.extend_low_i8x16_u (local.get $d)) (local.get $lower))))
        (local.set $u3 (i32x4.add (local.get $u3) (i32x4.dot_i16x8_s (i16x8.extend_high_i8x16_u (local.get $d)) (local.get $upper))))
        (local.set $l3 (i32x4.add (local.get $l3) (i32x4.dot_i16x8_s (i16x8.extend_high_i8x16_u (local.get $d)) (local.get $lower))))
        (local.set $row (i32.add (local.get $row) (i32.const 8)))
        (br_if $pair
          (i32.lt_u (local.tee $weight (i32.add (local.get $weight) (i32.const 8))) (local.get $lastWeight))))
      (v128.store (local.get $to)
        (i8x16.narrow_i16x8_u
          (i16x8.narrow_i32x4_s
            (i32x4.shr_s (i32x4.add (i32x4.shl (local.get $u0) (i32.const 12)) (local.get $l0)) (i32.const 22))
            (i32x4.shr_s (i32x4.add (i32x4.shl (local.get $u1) (i32.const 12)) (local.get $l1)) (i32.const 22)))
          (i16x8.narrow_i32x4_s
            (i32x4.shr_s (i32x4.add (i32x4.shl (local.get $u2) (i32.const 12)) (local.get $l2)) (i32.const 22))
            (i32x4.shr_s (i32x4.add (i32x4.shl (local.get $u3) (i32.const 12)) (local.get $l3)) (i32.const 22)))))
      (local.set $left (i32.add (local.get $left) (i32.const 16)))
      (br_if $block
        (i32.lt_u (local.tee $to (i32.add (local.get $to) (i32.const 16))) (local.get $end)))))

  ;; Weighs columns of one row. `first`: for each output the first byte of its window, from `from`, 4 bytes each. `weights`: for
  ;; each output `groups` times the upper halves of 8 weights (8 x 2 bytes), then the lower. Writes `count` bytes, rounded up to 4.
  (func (export "mixColumns")
    (param $from i32) (param $first i32) (param $weights i32) (param $groups i32) (param $to i32) (param $count i32)
    (local $end i32) (local $size i32) (local $group i32) (local $w i32)
    (local $p0 i32) (local $p1 i32) (local $p2 i32) (local $p3 i32)
    (local $v v128) (local $s0 v128) (local $s1 v128) (local $s2 v128) (local $s3 v128)
    (local.set $end (i32.add (local.get $to) (local.get $count)))
    (local.set $size (i32.shl (local.get $groups) (i32.const 5)))
    (loop $four
      (local.set $s0 (v128.const i32x4 0 0 0 0))
      (local.set $s1 (v128.const i32x4 0 0 0 0))
      (local.set $s2 (v128.const i32x4 0 0 0 0))
      (local.set $s3 (v128.const i32x4 0 0 0 0))
      (local.set $p0 (i32.add (local.get $from) (i32.load (local.get $first))))
      (local.set $p1 (i32.add (local.get $from) (i32.load offset=4 (local.get $first))))
      (local.set $p2 (i32.add (local.get $from) (i32.load offset=8 (local.get $first))))
      (local.set $p3 (i32.add (local.get $from) (i32.load offset=12 (local.get $first))))
      (local.set $group (i32.const 0))
      (loop $eight
        (local.set $w (i32.add (local.get $weights) (i32.shl (local.get $group) (i32.const 5))))
        (local.set $v (v128.load8x8_u (local.get $p0)))
        (local.set $s0 (i32x4.add (local.get $s0) (i32x4.add
          (i32x4.shl (i32x4.dot_i16x8_s (local.get $v) (v128.load (local.get $w))) (i32.const 12))
          (i32x4.dot_i16x8_s (local.get $v) (v128.load offset=16 (local.get $w))))))
        (local.set $w (i32.add (local.get $w) (local.get $size)))
        (local.set $v (v128.load8x8_u (local.get $p1)))
        (local.set $s1 (i32x4.add (local.get $s1) (i32x4.add
          (i32x4.shl (i32x4.dot_i16x8_s (local.get $v) (v128.load (local.get $w))) (i32.const 12))
          (i32x4.dot_i16x8_s (local.get $v) (v128.load offset=16 (local.get $w))))))
        (local.set $w (i32.add (local.get $w) (local.get $size)))
        (local.set $v (v128.load8x8_u (local.get $p2)))
        (local.set $s2 (i32x4.add (local.get $s2) (i32x4.add
          (i32x4.shl (i32x4.dot_i16x8_s (local.get $v) (v128.load (local.get $w))) (i32.const 12))
          (i32x4.dot_i16x8_s (local.get $v) (v128.load offset=16 (local.get $w))))))
        (local.set $w (i32.add (local.get $w) (local.get $size)))
        (local.set $v (v128.load8x8_u (local.get $p3)))
        (local.set $s3 (i32x4.add (local.get $s3) (i32x4.add
          (i32x4.shl (i32x4.dot_i16x8_s (local.get $v) (v128.load (local.get $w))) (i32.const 12))
          (i32x4.dot_i16x8_s (local.get $v) (v128.load offset=16 (local.get $w))))))
        (local.set $p0 (i32.add (local.get $p0) (i32.const 8)))
        (local.set $p1 (i32.add (local.get $p1) (i32.const 8)))
        (local.set $p2 (i32.add (local.get $p2) (i32.const 8)))
        (local.set $p3 (i32.add (local.get $p3) (i32.const 8)))
        (br_if $eight
          (i32.lt_u (local.tee $group (i32.add (local.get $group) (i32.const 1))) (local.get $groups))))
      ;; the four lanes of each sum, added: lanes 0 + 2 and 1 + 3 of two sums, then of all four
      (local.set $s0 (i32x4.add
        (i8x16.shuffle 0 1 2 3 16 17 18 19 4 5 6 7 20 21 22 23 (local.get $s0) (local.get $s1))
        (i8x16.shuffle 8 9 10 11 24 25 26 27 12 13 14 15 28 29 30 31 (local.get $s0) (local.get $s1))))
      (local.set $s2 (i32x4.add
        (i8x16.shuffle 0 1 2 3 16 17 18 19 4 5 6 7 20 21 22 23 (local.get $s2) (local.get $s3))
        (i8x16.shuffle 8 9 10 11 24 25 26 27 12 13 14 15 28 29 30 31 (local.get $s2) (local.get $s3))))
      (local.set $v (i32x4.shr_s (i32x4.add (v128.const i32x4 0x200000 0x200000 0x200000 0x200000) (i32x4.add
        (i8x16.shuffle 0 1 2 3 4 5 6 7 16 17 18 19 20 21 22 23 (local.get $s0) (local.get $s2))
        (i8x16.shuffle 8 9 10 11 12 13 14 15 24 25 26 27 28 29 30 31 (local.get $s0) (local.get $s2)))) (i32.const 22)))
      (local.set $v (i16x8.narrow_i32x4_s (local.get $v) (local.get $v)))
      (v128.store32_lane 0 (local.get $to) (i8x16.narrow_i16x8_u (local.get $v) (local.get $v)))
      (local.set $first (i32.add (local.get $first) (i32.const 16)))
      (local.set $weights (i32.add (local.get $weights) (i32.shl (local.get $size) (i32.const 2))))
      (br_if $four
        (i32.lt_u (local.tee $to (i32.add (local.get $to) (i32.const 4))) (local.get $end)))))

  ;; Writes a row of grey as `count` pixels of RGB, 16 or more: some of the last 16 are written twice.
  (func (export "spreadGrey") (param $grey i32) (param $to i32) (param $count i32)
    (local $last i32) (local $v v128)
    (local.set $last (i32.sub (i32.add (local.get $grey) (local.get $count)) (i32.const 16)))
    (loop $block
      (local.set $v (v128.load (local.get $grey)))
      (v128.store (local.get $to)
        (i8x16.shuffle 0 0 0 1 1 1 2 2 2 3 3 3 4 4 4 5 (local.get $v) (local.get $v)))
      (v128.store offset=16 (local.get $to)
        (i8x16.shuffle 5 5 6 6 6 7 7 7 8 8 8 9 9 9 10 10 (local.get $v) (local.get $v)))
      (v128.store offset=32 (local.get $to)
        (i8x16.shuffle 10 11 11 11 12 12 12 13 13 13 14 14 14 15 15 15 (local.get $v) (local.get $v)))
      (if (i32.eq (local.get $grey) (local.get $last)) (then (return)))
      (local.set $to (i32.add (local.get $to) (i32.const 48)))
      (local.set $grey (i32.add (local.get $grey) (i32.const 16)))
      (if (i32.gt_u (local.get $grey) (local.get $last)) (then
        (local.set $to (i32.sub (local.get $to) (i32.mul (i32.sub (local.get $grey) (local.get $last)) (i32.const 3))))
        (local.set $grey (local.get $last))))
      (br $block)))

  ;; Writes a row of each channel as `count` pixels of RGB, 16 or more: some of the last 16 are written twice.
  (func (export "weave") (param $red i32) (param $green i32) (param $blue i32) (param $to i32) (param $count i32)
    (local $last i32) (local $over i32) (local $r v128) (local $g v128) (local $b v128)
    (local.set $last (i32.sub (i32.add (local.get $red) (local.get $count)) (i32.const 16)))
    (loop $block
      (local.set $r (v128.load (local.get $red)))
      (local.set $g (v128.load (local.get $green)))
      (local.set $b (v128.load (local.get $blue)))
      (v128.store (local.get $to)
        (i8x16.shuffle 0 1 16 3 4 17 6 7 18 9 10 19 12 13 20 15
          (i8x16.shuffle 0 16 0 1 17 0 2 18 0 3 19 0 4 20 0 5 (local.get $r) (local.get $g)) (local.get $b)))
      (v128.store offset=16 (local.get $to)
        (i8x16.shuffle 0 21 2 3 22 5 6 23 8 9 24 11 12 25 14 15
          (i8x16.shuffle 21 0 6 22 0 7 23 0 8 24 0 9 25 0 10 26 (local.get $r) (local.get $g)) (local.get $b)))
      (v128.store offset=32 (local.get $to)
        (i8x16.shuffle 26 1 2 27 4 5 28 7 8 29 10 11 30 13 14 31
          (i8x16.shuffle 0 11 27 0 12 28 0 13 29 0 14 30 0 15 31 0 (local.get $r) (local.get $g)) (local.get $b)))
      (if (i32.eq (local.get $red) (local.get $last)) (then (return)))
      (local.set $to (i32.add (local.get $to) (i32.const 48)))
      (local.set $red (i32.add (local.get $red) (i32.const 16)))
      (local.set $green (i32.add (local.get $green) (i32.const 16)))
      (local.set $blue (i32.add (local.get $blue) (i32.const 16)))
      (if (i32.gt_u (local.get $red) (local.get $last)) (then
        (local.set $over (i32.sub (local.get $red) (local.get $last)))
        (local.set $to (i32.sub (local.get $to) (i32.mul (local.get $over) (i32.const 3))))
        (local.set $red (local.get $last))
        (local.set $green (i32.sub (local.get $green) (local.get $over)))
        (local.set $blue (i32.sub (local.get $blue) (local.get $over)))))
      (br $block)))
)
