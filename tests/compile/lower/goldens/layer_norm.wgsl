@group(0) @binding(0) var<storage, read> b0: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read> b1: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> b2: array<vec4<f32>>;
@group(0) @binding(3) var<storage, read_write> b3: array<vec4<f32>>;
@group(0) @binding(4) var<storage, read_write> b4: array<vec4<f32>>;
@group(0) @binding(5) var<uniform> P: array<vec4<u32>, 16>;
@compute @workgroup_size(64, 1)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_id) local: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
  let id = (group.y * groups.x + group.x) * 64u + lane;
  if (id >= P[0].x) { return; }
  let i0 = i32(id);
  var r0x = 0.0;
  var r0y = 0.0;
  var r0z = 0.0;
  var r0w = 0.0;
  var r1x = 0.0;
  var r1y = 0.0;
  var r1z = 0.0;
  var r1w = 0.0;
  var at0 = bitcast<i32>(P[0].y) + i0 * 16;
  var at1 = bitcast<i32>(P[0].z) + i0 * 16;
  var at2 = bitcast<i32>(P[0].w);
  for (var i1 = 0; i1 < 64; i1 += 4) {
    let t0 = b0[at0];
    let t0x = t0.x;
    let t0y = t0.y;
    let t0z = t0.z;
    let t0w = t0.w;
    r0x = r0x + t0x;
    r0y = r0y + t0y;
    r0z = r0z + t0z;
    r0w = r0w + t0w;
    let t1 = b1[at1];
    let t1x = t1.x;
    let t1y = t1.y;
    let t1z = t1.z;
    let t1w = t1.w;
    let t2 = b2[at2];
    let t2x = t2.x;
    let t2y = t2.y;
    let t2z = t2.z;
    let t2w = t2.w;
    // programs.py:16
    let t3x = (t1x * t2x);
    let t3y = (t1y * t2y);
    let t3z = (t1z * t2z);
    let t3w = (t1w * t2w);
    r1x = r1x + t3x;
    r1y = r1y + t3y;
    r1z = r1z + t3z;
    r1w = r1w + t3w;
    at0 += 1;
    at1 += 1;
    at2 += 1;
  }
  let r0 = (r0x + r0y) + (r0z + r0w);
  let r1 = (r1x + r1y) + (r1z + r1w);
  let t5 = (r0 / 64.0f);
  var r2x = 0.0;
  var r2y = 0.0;
  var r2z = 0.0;
  var r2w = 0.0;
  var at3 = bitcast<i32>(P[0].y) + i0 * 16;
  for (var i1 = 0; i1 < 64; i1 += 4) {
    let t4 = b0[at3];
    let t4x = t4.x;
    let t4y = t4.y;
    let t4z = t4.z;
    let t4w = t4.w;
    let t6x = (t4x - t5);
    let t6y = (t4y - t5);
    let t6z = (t4z - t5);
    let t6w = (t4w - t5);
    let t7x = (t6x * t6x);
    let t7y = (t6y * t6y);
    let t7z = (t6z * t6z);
    let t7w = (t6w * t6w);
    r2x = r2x + t7x;
    r2y = r2y + t7y;
    r2z = r2z + t7z;
    r2w = r2w + t7w;
    at3 += 1;
  }
  let r2 = (r2x + r2y) + (r2z + r2w);
  let t8 = (r2 / 64.0f);
  let t9 = (t8 + 9.999999747378752e-06f);
  let t10 = rsqrt_f(t9);
  var r3x = 0.0;
  var r3y = 0.0;
  var r3z = 0.0;
  var r3w = 0.0;
  var at4 = bitcast<i32>(P[0].y) + i0 * 16;
  var at5 = bitcast<i32>(P[0].z) + i0 * 16;
  var at6 = bitcast<i32>(P[0].w);
  var at7 = bitcast<i32>(P[1].x) + i0 * 16;
  var at8 = bitcast<i32>(P[1].y) + i0 * 16;
  for (var i1 = 0; i1 < 64; i1 += 4) {
    let t11 = b0[at4];
    let t11x = t11.x;
    let t11y = t11.y;
    let t11z = t11.z;
    let t11w = t11.w;
    let t12x = (t11x - t5);
    let t12y = (t11y - t5);
    let t12z = (t11z - t5);
    let t12w = (t11w - t5);
    let t13x = (t12x * t10);
    let t13y = (t12y * t10);
    let t13z = (t12z * t10);
    let t13w = (t12w * t10);
    let t14 = b1[at5];
    let t14x = t14.x;
    let t14y = t14.y;
    let t14z = t14.z;
    let t14w = t14.w;
    let t15 = b2[at6];
    let t15x = t15.x;
    let t15y = t15.y;
    let t15z = t15.z;
    let t15w = t15.w;
    let t16x = (t14x * t15x);
    let t16y = (t14y * t15y);
    let t16z = (t14z * t15z);
    let t16w = (t14w * t15w);
    let t17x = (t16x * t13x);
    let t17y = (t16y * t13y);
    let t17z = (t16z * t13z);
    let t17w = (t16w * t13w);
    r3x = r3x + t17x;
    r3y = r3y + t17y;
    r3z = r3z + t17z;
    r3w = r3w + t17w;
    b4[at7] = vec4<f32>(t13x, t13y, t13z, t13w);
    b3[at8] = vec4<f32>(t13x, t13y, t13z, t13w);
    at4 += 1;
    at5 += 1;
    at6 += 1;
    at7 += 1;
    at8 += 1;
  }
  let r3 = (r3x + r3y) + (r3z + r3w);
  let t21 = (r1 / 64.0f);
  let t22 = (t10 * 64.0f);
  let t23 = (0.0f / t22);
  let t24 = (t21 - t23);
  let t27 = (r3 / 64.0f);
  let t28 = (0.0f * t10);
  let t29 = (t28 / 64.0f);
  let t30 = (t27 + t29);
  var at9 = bitcast<i32>(P[0].z) + i0 * 16;
  var at10 = bitcast<i32>(P[0].w);
  var at11 = bitcast<i32>(P[1].x) + i0 * 16;
  for (var i1 = 0; i1 < 64; i1 += 4) {
    let t18 = b1[at9];
    let t18x = t18.x;
    let t18y = t18.y;
    let t18z = t18.z;
    let t18w = t18.w;
    let t19 = b2[at10];
    let t19x = t19.x;
    let t19y = t19.y;
    let t19z = t19.z;
    let t19w = t19.w;
    let t20x = (t18x * t19x);
    let t20y = (t18y * t19y);
    let t20z = (t18z * t19z);
    let t20w = (t18w * t19w);
    let t25x = (t20x - t24);
    let t25y = (t20y - t24);
    let t25z = (t20z - t24);
    let t25w = (t20w - t24);
    let t26 = b4[at11];
    let t26x = t26.x;
    let t26y = t26.y;
    let t26z = t26.z;
    let t26w = t26.w;
    let t31x = (t26x * t30);
    let t31y = (t26y * t30);
    let t31z = (t26z * t30);
    let t31w = (t26w * t30);
    let t32x = (t25x - t31x);
    let t32y = (t25y - t31y);
    let t32z = (t25z - t31z);
    let t32w = (t25w - t31w);
    let t33x = (t32x * t10);
    let t33y = (t32y * t10);
    let t33z = (t32z * t10);
    let t33w = (t32w * t10);
    b4[at11] = vec4<f32>(t33x, t33y, t33z, t33w);
    at9 += 1;
    at10 += 1;
    at11 += 1;
  }
}

@group(0) @binding(0) var<storage, read> b0: array<f32>;
@group(0) @binding(1) var<storage, read> b1: array<f32>;
@group(0) @binding(2) var<storage, read_write> b2: array<f32>;
@group(0) @binding(3) var<storage, read_write> b3: array<f32>;
@group(0) @binding(4) var<uniform> P: array<vec4<u32>, 16>;
@compute @workgroup_size(64, 1)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_id) local: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
  let id = (group.y * groups.x + group.x) * 64u + lane;
  if (id >= P[0].x) { return; }
  let i1 = i32(id);
  var r0 = 0.0;
  var r1 = 0.0;
  var at0 = bitcast<i32>(P[0].y) + i1;
  var at1 = bitcast<i32>(P[0].z) + i1;
  for (var i0 = 0; i0 < 48; i0 += 1) {
    let t0 = b0[at0];
    let t1 = b1[at1];
    // programs.py:16
    let t2 = (t0 * t1);
    r0 = r0 + t2;
    r1 = r1 + t0;
    at0 += 64;
    at1 += 64;
  }
  b2[bitcast<i32>(P[0].w) + i1] = r0;
  b3[bitcast<i32>(P[1].x) + i1] = r1;
}
